// The hooks that functions call before they leave: see enter_hooks.S.

#include "hook_macros.h"

// rdx = time stamp; flags and registers are kept for the way through C++.
.macro STAMP_LEAVE
        KEEP_FLAGS
        TIME_STAMP %rdx
        KEEP_TWO_MORE
.endm

// \looks: now and then a call is looked at, see leaving.cc.
.macro LEAVE_TIMED variant, clock, looks=0
        HIDDEN_FUNCTION leave_\variant
        KEEP_THREE
        STAMP_LEAVE                             // a
        FIND_STATE %rax, .Lno_state_\variant
        cmp     %rsp, PROF_FRAME_SLOT(%rcx,%rax)
        jne     leave_slowly
        mov     %rax, KEPT_TOP(%rsp)
        mov     PROF_FRAME_NODE(%rcx,%rax), %esi
        NODE_ADDRESS %rsi
        mov     STATE_THREAD(%rcx), %rdi
        TAKE_DURATION %rdx, %rax
.Lgive_leave_\variant:
        USE_CLOCK leave_\variant, %rdx, \clock
        GIVE_TIME leave_\variant, %rdx          // b, c
        mov     KEPT_TOP(%rsp), %rax
        movq    $0, PROF_FRAME_SLOT(%rcx,%rax)  // d
        sub     $PROF_FRAME_SIZE, %rax
        mov     %rax, STATE_TOP(%rcx)           // e
.if \looks
        decl    STATE_UNTIL_LOOK(%rcx)
        jle     .Llook_\variant                 // less: a handler left between this and the next number
.Lcount_\variant:
.endif
        COUNT_DURATION_AND_RETURN leave_\variant, COST_PAIR // f
.Lno_state_\variant:
        RESTORE_FIVE_AND_RETURN
.Lagain_leave_\variant:
        TIME_STAMP %rdx
        jmp     .Lgive_leave_\variant
.Lafter_leave_\variant:
.if \clock == CLOCK_IS_COUNTER
        LOOK_FOR_SETBACK leave_\variant, %rdx
.endif
        jmp     .Lgiven_leave_\variant
.if \clock != CLOCK_IS_COUNTER
.Lswitched_leave_\variant:
        jmp     leave_slowly
.endif
.if \looks
.Llook_\variant:
        mov     %rsi, KEPT_NODE(%rsp)
        mov     %rcx, %rdi
        mov     %rsp, %rdx
        mov     KEPT_DURATION(%rsp), %rcx
        add     hook_costs+COST_INSIDE(%rip), %rcx
        neg     %rcx
        CALL_CXX look_at_call
        FIND_STATE %rax, .Lno_state_\variant
        mov     KEPT_NODE(%rsp), %rsi
        mov     STATE_THREAD(%rcx), %rdi
        jmp     .Lcount_\variant
.endif
        END_FUNCTION leave_\variant
.endm

        LEAVE_TIMED elapsed, CLOCK_IS_COUNTER
        LEAVE_TIMED leaving, CLOCK_IS_COUNTER, 1
        LEAVE_TIMED time, CLOCK_WITH_SIGN
        LEAVE_TIMED time_asking, CLOCK_WITHOUT_SIGN

        HIDDEN_FUNCTION leave_count
        KEEP_THREE
        FIND_STATE %rdx, .Lno_state_count
        cmp     %rsp, PROF_FRAME_SLOT(%rcx,%rdx)
        jne     .Lleave_count_slowly
        movq    $0, PROF_FRAME_SLOT(%rcx,%rdx)  // d
        sub     $PROF_FRAME_SIZE, %rdx
        mov     %rdx, STATE_TOP(%rcx)           // e
.Lno_state_count:
        RESTORE_THREE_AND_RETURN
.Lleave_count_slowly:
        KEEP_FLAGS
        KEEP_TWO_MORE
        xor     %edx, %edx
        jmp     leave_slowly
        END_FUNCTION leave_count

        HIDDEN_FUNCTION leave_adaptive
        KEEP_THREE
        FIND_STATE %rdx, .Lno_state_count
        cmp     %rsp, PROF_FRAME_SLOT(%rcx,%rdx)
        jne     .Lleave_adaptive_slowly
        cmpl    $0, PROF_FRAME_FLAGS(%rcx,%rdx)
        jne     .Lleave_timed
        movq    $0, PROF_FRAME_SLOT(%rcx,%rdx)  // d
        sub     $PROF_FRAME_SIZE, %rdx
        mov     %rdx, STATE_TOP(%rcx)           // e
        RESTORE_THREE_AND_RETURN
.Lleave_timed:
        mov     %rdx, KEPT_TOP(%rsp)
        STAMP_LEAVE
        jmp     leave_timed
.Lleave_adaptive_slowly:
        STAMP_LEAVE
        jmp     leave_slowly
        END_FUNCTION leave_adaptive

// rsi = the node
        HIDDEN_FUNCTION short_calls_are_full
        FIND_STATE %rax, 1f
        mov     %rcx, %rdi
        CALL_CXX note_full_short_calls
1:      RESTORE_FIVE_AND_RETURN
        END_FUNCTION short_calls_are_full

// rsi = the node, rdx = the duration
        HIDDEN_FUNCTION count_duration_slowly
        FIND_STATE %rax, 1f
        mov     %rcx, %rdi
        CALL_CXX note_duration
1:      RESTORE_FIVE_AND_RETURN
        END_FUNCTION count_duration_slowly

// rcx = S, rdx = time stamp
        HIDDEN_FUNCTION leave_slowly
        CALL_SLOW leave_slow
        END_FUNCTION leave_slowly

// rcx = S, the frame - S in KEPT_TOP, rdx = time stamp
        HIDDEN_FUNCTION leave_timed
        mov     %rcx, %rdi
        mov     KEPT_TOP(%rsp), %rsi
        add     %rcx, %rsi
        CALL_CXX leave_timed_call
        RESTORE_FIVE_AND_RETURN
        END_FUNCTION leave_timed

// See enter_without_tsc.
        HIDDEN_FUNCTION leave_without_tsc
        KEEP_THREE
        KEEP_FLAGS
        KEEP_TWO_MORE
        FIND_STATE %rdx, .Lno_state_elapsed
        xor     %edx, %edx                      // it may be readable again by now
        jmp     leave_slowly
        END_FUNCTION leave_without_tsc
