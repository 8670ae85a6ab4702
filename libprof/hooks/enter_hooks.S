// The hooks that functions call on entry, one for each way to count and to time: the fast paths, and what leads from
// them to the slow ones in C++. hooks.S says why they are right.

#include "hook_macros.h"

// The fast path of entering up to instruction 2. Leaves rcx = S, rdi = C and, unless \temp is rsi, rsi = P. \temp may
// be changed; rax holds the flags if \temp is rsi. \careful: another stack may end less than LARGEST_FRAME below.
.macro ENTER_NODE variant, temp, slowly, careful
        FIND_STATE %rdx, \slowly
        mov     PROF_FRAME_SLOT(%rcx,%rdx), %rsi
        sub     %rsp, %rsi
        sub     $2, %rsi
        cmp     $LARGEST_FRAME, %rsi
        jae     \slowly
.if \careful
        cmp     STATE_BARRIER(%rcx), %rsp
        jb      \slowly
.endif
        mov     PROF_FRAME_NODE(%rcx,%rdx), %esi
        NODE_ADDRESS %rsi                       // P
        mov     PROF_NODE_LAST(%rsi), %edi
        NODE_ADDRESS %rdi                       // C; without a last node, the header, whose first word is no pc
        mov     (%rsp), \temp                   // pc
        cmp     \temp, PROF_NODE_PC(%rdi)
        jne     .Lother_child_\variant
.Lhave_child_\variant:
        add     $PROF_FRAME_SIZE, %rdx
        test    $(CHUNK_ALIGNMENT - 1), %edx
        jz      \slowly
        mov     %rdx, STATE_TOP(%rcx)           // 2
.endm

// Instruction 3: node and flags of the new frame (rdx) in one word. \temp is changed.
.macro STORE_NODE temp
        mov     %rdi, \temp
        sub     STATE_BASE(%rcx), \temp
        shr     $PROF_BLOCK_SHIFT, \temp
        mov     \temp, PROF_FRAME_NODE(%rcx,%rdx)
.endm

// The stamp is taken first, so that the rest of the hook overlaps with it, and kept in r11.
.macro ENTER_TIMED variant, careful, clock
        HIDDEN_FUNCTION enter_\variant
        KEEP_THREE
        KEEP_FLAGS
        mov     %r11, KEPT_R11(%rsp)
        .cfi_offset %r11, CFA(KEPT_R11)
        TIME_STAMP %r11                         // 1
        KEEP_TWO_MORE
        ENTER_NODE \variant, %rax, enter_slowly_with_r11, \careful
        COUNT
        STORE_NODE %rax                         // 3
        mov     STATE_THREAD(%rcx), %rdi
        mov     %r11, %rax
        sub     PROF_THREAD_HOOK_CYCLES(%rdi), %rax
        mov     %rax, PROF_FRAME_START(%rcx,%rdx)
.Lgive_\variant:
        USE_CLOCK \variant, %r11, \clock
        GIVE_TIME \variant, %r11                // 5, 6
        mov     %rsp, PROF_FRAME_SLOT(%rcx,%rdx) // 7
        mov     KEPT_R11(%rsp), %r11
        RESTORE_TWO_MORE
        RESTORE_FLAGS
        RESTORE_THREE_AND_RETURN
        TIME_AGAIN \variant, %r11, \clock
.if \clock != CLOCK_IS_COUNTER
.Lswitched_\variant:
        mov     KEPT_R11(%rsp), %r11
        jmp     enter_switched
.endif
        FIND_CHILD \variant, enter_slowly_with_r11
        END_FUNCTION enter_\variant
.endm

// Adaptive if \is_adaptive: a call that is due goes on in enter_timed.
.macro ENTER_COUNT variant, careful, is_adaptive
        HIDDEN_FUNCTION enter_\variant
        KEEP_THREE
        KEEP_TWO_MORE
        ENTER_NODE \variant, %rsi, .Lslowly_\variant, \careful
.if \is_adaptive
        mov     PROF_NODE_COUNT(%rdi), %rsi
        cmp     PROF_NODE_NEXT(%rdi), %rsi
        jae     .Ltime_\variant
.endif
        COUNT
        STORE_NODE %rdi                         // 3
        mov     %rsp, PROF_FRAME_SLOT(%rcx,%rdx) // 7
        RESTORE_TWO_MORE
        RESTORE_THREE_AND_RETURN
.if \is_adaptive
.Ltime_\variant:
        mov     %rdi, %rsi
        STORE_NODE %rdi                         // 3
        KEEP_FLAGS
        jmp     enter_timed
.endif
.Lslowly_\variant:
        KEEP_FLAGS
        jmp     enter_slowly
        FIND_CHILD \variant, .Lslowly_\variant
        END_FUNCTION enter_\variant
.endm

        ENTER_TIMED elapsed, 0, CLOCK_IS_COUNTER
        ENTER_TIMED elapsed_carefully, 1, CLOCK_IS_COUNTER
        ENTER_TIMED time, 0, CLOCK_WITH_SIGN
        ENTER_TIMED time_carefully, 1, CLOCK_WITH_SIGN
        ENTER_TIMED time_asking, 0, CLOCK_WITHOUT_SIGN
        ENTER_TIMED time_asking_carefully, 1, CLOCK_WITHOUT_SIGN
        ENTER_COUNT count, 0, 0
        ENTER_COUNT count_carefully, 1, 0
        ENTER_COUNT adaptive, 0, 1
        ENTER_COUNT adaptive_carefully, 1, 1

        HIDDEN_FUNCTION enter_slowly_with_r11
        mov     KEPT_R11(%rsp), %r11
        jmp     enter_slowly
        END_FUNCTION enter_slowly_with_r11

// rcx = S. The function may have been jumped to (tail_calls.cc): its frame is there, and all that is left is to count.
        HIDDEN_FUNCTION enter_slowly
        test    %rcx, %rcx
        jz      1f
        mov     STATE_TOP(%rcx), %rdx
        cmp     %rsp, PROF_FRAME_SLOT(%rcx,%rdx)
        jne     1f
        cmpl    $FRAME_EXPECTED, PROF_FRAME_FLAGS(%rcx,%rdx)
        jne     1f
        mov     PROF_FRAME_NODE(%rcx,%rdx), %edi
        NODE_ADDRESS %rdi
        mov     (%rsp), %rax                    // pc
        xor     PROF_NODE_PC(%rdi), %rax
        btr     $PROF_TAIL_BIT, %rax
        btr     $PROF_SOUGHT_BIT, %rax
        test    %rax, %rax
        jnz     1f
        COUNT
        movl    $0, PROF_FRAME_FLAGS(%rcx,%rdx)
        RESTORE_FIVE_AND_RETURN
1:      mov     (%rsp), %rdx
        CALL_SLOW enter_slow
        END_FUNCTION enter_slowly

// rcx = S, rdx = the new frame - S, rsi = P: the thread's clock has to be asked for first.
        HIDDEN_FUNCTION enter_switched
        mov     %rcx, %rdi
        lea     (%rcx,%rdx), %rax
        mov     %rsi, %rdx
        mov     %rax, %rsi
        mov     %rsp, %rcx
        CALL_CXX enter_after_switch
        RESTORE_FIVE_AND_RETURN
        END_FUNCTION enter_switched

// rcx = S, rcx + rdx = the new frame, rsi = C, not yet counted
        HIDDEN_FUNCTION enter_timed
        mov     %rsi, KEPT_NODE(%rsp)
        mov     %rcx, %rdi
        lea     (%rcx,%rdx), %rsi
        mov     %rsi, KEPT_TOP(%rsp)
        CALL_CXX time_call
        mov     KEPT_NODE(%rsp), %rdi
        COUNT
        mov     KEPT_TOP(%rsp), %rcx
1:      mov     libprof_state@gottpoff(%rip), %rdi
        mov     %fs:(%rdi), %rdi                // S, or 0: a handler has forked, and this is the child
        xor     %esi, %esi
        test    %rdi, %rdi
        jz      2f
        mov     STATE_AWAY(%rdi), %rsi
2:      TIME_STAMP %rax
        sub     %rsi, %rax
        test    %rdi, %rdi
        jz      3f
        cmp     STATE_AWAY(%rdi), %rsi          // changed by a handler: the stamp may be of before it
        jne     1b
3:      mov     %rax, PROF_FRAME_START(%rcx)
        mov     %rsp, PROF_FRAME_SLOT(%rcx)     // 7
        RESTORE_FIVE_AND_RETURN
        END_FUNCTION enter_timed

// For when the counter may not be read any more (sandbox.cc): the slow path takes the last stamp again and again.
        HIDDEN_FUNCTION enter_without_tsc
        KEEP_THREE
        KEEP_FLAGS
        KEEP_TWO_MORE
        FIND_STATE %rdx, 1f
1:      jmp     enter_slowly
        END_FUNCTION enter_without_tsc
