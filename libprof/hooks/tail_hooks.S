// The hooks that functions call before a tail call: see enter_hooks.S.

#include "hook_macros.h"

#define JUMP_LENGTH 5  // jmp with a displacement of 32 bits, after a byte

// The fast path of a tail call up to u. Leaves rcx = S, rdx = the top frame - S, our own, rsi = P, rdi = C. r8, which
// is kept, = the pc of C, that of the end of the jump after the call of the hook.
.macro TAIL_NODE variant, slowly, is_adaptive=0
        mov     %r8, KEPT_R8(%rsp)
        .cfi_offset %r8, CFA(KEPT_R8)
        mov     (%rsp), %rcx
        movslq  1(%rcx), %r8
        lea     JUMP_LENGTH(%rcx,%r8), %r8
        bts     $PROF_TAIL_BIT, %r8
        FIND_STATE %rdx, \slowly
        cmp     %rsp, PROF_FRAME_SLOT(%rcx,%rdx)
        jne     \slowly
.if \is_adaptive
        cmpl    $0, PROF_FRAME_FLAGS(%rcx,%rdx)
        jne     \slowly
.endif
        mov     PROF_FRAME_NODE(%rcx,%rdx), %esi
        NODE_ADDRESS %rsi                       // P
        mov     PROF_NODE_LAST(%rsi), %edi
        NODE_ADDRESS %rdi                       // C
        cmp     %r8, PROF_NODE_PC(%rdi)
        jne     .Lother_child_\variant
.Lhave_child_\variant:
.endm

// r8 = the block of C
.macro BLOCK_OF_NODE
        mov     %rdi, %r8
        sub     STATE_BASE(%rcx), %r8
        shr     $PROF_BLOCK_SHIFT, %r8
.endm

.macro TAIL_TIMED variant, clock
        HIDDEN_FUNCTION tail_\variant
        KEEP_THREE
        KEEP_FLAGS
        mov     %r11, KEPT_R11(%rsp)
        .cfi_offset %r11, CFA(KEPT_R11)
        TIME_STAMP %r11                         // t
        KEEP_TWO_MORE
        TAIL_NODE tail_\variant, tail_slowly_with_r11
        COUNT                                   // u
        BLOCK_OF_NODE
        mov     STATE_THREAD(%rcx), %rdi
        TAKE_DURATION %r11, %rdx
.Lgive_tail_\variant:
        USE_CLOCK tail_\variant, %r11, \clock
        GIVE_TIME tail_\variant, %r11           // v, w
        mov     %r8d, PROF_FRAME_NODE(%rcx,%rdx) // x
        mov     KEPT_DURATION(%rsp), %rax
        add     hook_costs+COST_INSIDE(%rip), %rax
        sub     %rax, PROF_FRAME_START(%rcx,%rdx) // the other call begins where this one ends, and has that cost
        mov     KEPT_R8(%rsp), %r8
        mov     KEPT_R11(%rsp), %r11
        COUNT_DURATION_AND_RETURN tail_\variant, COST_INSIDE
        TIME_AGAIN tail_\variant, %r11, \clock
.if \clock != CLOCK_IS_COUNTER
.Lswitched_tail_\variant:
        mov     KEPT_R11(%rsp), %r11
        jmp     tail_switched
.endif
        FIND_CHILD tail_\variant, tail_slowly_with_r11, 1
        END_FUNCTION tail_\variant
.endm

// Adaptive: a call that is due goes on in C++, and one from a call that is timed.
.macro TAIL_COUNT variant, is_adaptive
        HIDDEN_FUNCTION tail_\variant
        KEEP_THREE
        KEEP_TWO_MORE
        TAIL_NODE tail_\variant, .Lslowly_tail_\variant, \is_adaptive
.if \is_adaptive
        mov     PROF_NODE_COUNT(%rdi), %rsi
        cmp     PROF_NODE_NEXT(%rdi), %rsi
        jae     .Lslowly_tail_\variant
.endif
        COUNT                                   // u
        BLOCK_OF_NODE
        mov     %r8d, PROF_FRAME_NODE(%rcx,%rdx) // x
        mov     KEPT_R8(%rsp), %r8
        RESTORE_TWO_MORE
        RESTORE_THREE_AND_RETURN
.Lslowly_tail_\variant:
        KEEP_FLAGS
        jmp     tail_slowly
        FIND_CHILD tail_\variant, .Lslowly_tail_\variant, 1
        END_FUNCTION tail_\variant
.endm

        TAIL_TIMED elapsed, CLOCK_IS_COUNTER
        TAIL_TIMED time, CLOCK_WITH_SIGN
        TAIL_TIMED time_asking, CLOCK_WITHOUT_SIGN
        TAIL_COUNT count, 0
        TAIL_COUNT adaptive, 1

        HIDDEN_FUNCTION tail_slowly_with_r11
        mov     KEPT_R11(%rsp), %r11
        jmp     tail_slowly
        END_FUNCTION tail_slowly_with_r11

// rcx = S; r8 is kept
        HIDDEN_FUNCTION tail_slowly
        mov     KEPT_R8(%rsp), %r8
        mov     (%rsp), %rdx
        CALL_SLOW tail_slow
        END_FUNCTION tail_slowly

// rcx = S, rdx = our frame - S, rsi = P, r8, which is kept, = the block of C: the thread's clock has to be asked for
// first.
        HIDDEN_FUNCTION tail_switched
        mov     %rcx, %rdi
        lea     (%rcx,%rdx), %rax
        mov     %rsi, %rdx
        mov     %rax, %rsi
        mov     %r8d, %ecx
        mov     KEPT_R8(%rsp), %r8
        CALL_CXX tail_after_switch
        RESTORE_FIVE_AND_RETURN
        END_FUNCTION tail_switched

// Where the jump leads, C++ finds out from all registers.
        HIDDEN_FUNCTION jump_anywhere
        KEEP_THREE
        KEEP_FLAGS
        KEEP_TWO_MORE
        FIND_STATE %rdx, 1f
        mov     %rcx, %rdi
        mov     %rsp, %rsi
        mov     (%rsp), %rdx
        CALL_CXX find_end_of_jump, 1
        mov     %rax, %rdx
        FIND_STATE %rsi, 1f
        mov     %rcx, %rdi
        mov     %rsp, %rsi
        CALL_CXX jump_slow
1:      RESTORE_FIVE_AND_RETURN
        END_FUNCTION jump_anywhere

// See enter_without_tsc.
        HIDDEN_FUNCTION tail_without_tsc
        KEEP_THREE
        KEEP_FLAGS
        KEEP_TWO_MORE
        mov     %r8, KEPT_R8(%rsp)
        FIND_STATE %rdx, 1f
1:      jmp     tail_slowly
        END_FUNCTION tail_without_tsc
