// _profin and _profout: the hooks that every function calls on entry and before it leaves.
//
// The problem. A hook runs tens of millions of times per second, between instructions of a program that does not know of
// it. It must keep every register and every flag, live on the red zone alone (a stack may be 4 KiB), cost little more
// than the two `rdtsc` of a pair, and leave the tree right when a signal handler runs hooks of its own between any
// two of its instructions, or leaves with siglongjmp and never comes back, or the process is killed there.
//
// Where things are. rsp points to the return address into the function's copy (Node::pc). Above it stands the function's
// own return address, so rsp is the same in both hooks of a call; it is the frame's SLOT, which identifies it. Signal
// delivery skips the 128 bytes below rsp, and neither a function's entry nor its return has anything live there, so
// registers are kept there. rsp does not move, and the rules for unwinding are those of a function just called.
//
//     S = the thread's State   T = S->top   (S,T) = top frame   P = its node   C = the node of the function called
//
// Entering. The one comparison  top.slot - slot - 1 < 32 KiB  (unsigned) covers everything that may be wrong: the frame
// at the top is gone (its slot is not above ours), it lies on another stack, it is being filled (slot 0), the state was
// wiped by fork (T is 0, so S itself is read, whose first word is T, 0). If it fails, shadow_stack.cc settles the case.
// (When another stack is known to end just below this one, the "careful" forms of the enter hook are in use, with one
// more comparison: see stack_switch.cc.) The end of a chunk of frames is the end of a page. Then
//
//     1  stamp = time stamp   first, so that what follows overlaps with the reading of the counter
//     2  S->top = T + 1       entry T + 1 has slot 0, as have all entries above the top: it is "being filled"
//     3  (T + 1).node = C, flags = 0
//     4  C.count++            (before 3 in the code)
//     5  if Thread::last_tsc is still L, it becomes the stamp; else a new stamp, and 5 again
//     6  P.cycles += stamp - L
//     7  (T + 1).slot = slot  from here on the frame is there
//
// and leaving, when top.slot == slot:
//
//     a  stamp = time stamp
//     b  if Thread::last_tsc is still L, it becomes the stamp; else again from a
//     c  C.cycles += stamp - L
//     d  top.slot = 0         from here on the frame is not there
//     e  S->top = T - 1
//
// Time. last_tsc says up to when the thread's time has been given to nodes. Every hook gives the time since then to the
// node that ran, and to that alone: there is nothing to balance, and no stamp stays in a node. 5 and b are one
// instruction each (cmpxchg, without lock: other threads never write the word), so each stretch of time is given once,
// whatever handlers come in between. (Plan 9 adds and subtracts whole stamps, to and from two nodes. That needs no
// comparison. But if a hook is abandoned in its middle, one node keeps a stamp too many and another runs for ever.)
//
// A handler that returns. Its hooks push and pop in balance, so they leave S->top and all slots as they found them.
//   before 2:  they nest above T as any call does, and use entry T + 1 and those above; all are 0 again when we go on.
//   2 to 7:    the top has slot 0: the comparison fails, and the slow path nests the handler's frame above T + 1, with
//              the nearest frame that has a slot, T, as its parent. It marks the frame's slot so that the fast exit does
//              not match it: the exit, too, must skip the entry that is being filled. Nothing touches entry T + 1.
//   d to e:    as 2 to 7. After e: as before 2.
//   A count is one instruction (4), so no count is lost or doubled.
//   A handler before 5 gives P its time up to then. If L was read before that, we find at 5 that last_tsc has changed,
//   and only what came after is left; if L is read later, our stamp is behind it, and there is no time to give. One
//   after 5 finds that P has been given its time; 6 adds to what it may add as well: sums commute. b and c are the same
//   with C, whose frame is still there.
//
// A handler that leaves by siglongjmp. We never go on. An entry without slot stays, and the slow path removes it when
// frames above or below it are gone. From then on time goes to the node on top. Between 5 and 6, or b and c, one
// stretch is lost, that since the hook before: never more, and nothing is given twice.
//
// A handler that changes to another coroutine. We go on later, perhaps much later. What we do then, we do to the
// frames of our own stack, for rdx was kept; last_tsc has changed if time has been given meanwhile; and 6 and c may come
// as late as they like.
//
// Taking a new stamp at 5 or b comes to an end. It takes a handler between the reading of L and the comparison and none
// between the stamp and the reading of L, else the stamp is behind L; so one after each instruction (single steps) does
// not do it.
//
// A stamp behind last_tsc was taken before a handler's, or is that of another processor, whose counter is a little
// behind: then there is no time to give. Only if a stamp taken after L was read is far behind it, the counter was set
// back, and last_tsc follows it.
//
// Adaptive hooks do 2, 3, 4, 7 and d, e, as counting ones do, and compare the node's count with that of the call to be
// timed next. A timed call goes through C++ (adaptive.cc) between 3 and 7, and its frame's flags tell the exit to do so
// before d. The hooks for time on a processor are those for elapsed time, but their stamps are of the thread's own
// clock. When that must be set, because the thread has been off its processor, the stamp and what follows are made in
// C++ (cpu_clock.cc, enter_after_switch).
//
// A kill. Counts and times in the file are those of the instructions executed. What a thread ran since its last hook
// belongs to the node of its top frame (format.h).
//
// Threads. Everything above is the thread's own. Programs call the hooks through two words in memory, which select the
// form of the hooks (hook_selection.h). They are stored when the process begins. A thread that is in another form of
// the hooks at that moment has no state yet, so it takes the slow path.

#include "libprof/format/format.h"
#include "state.h"

#define KEPT_RAX -8
#define KEPT_FLAGS -16
#define KEPT_RCX -24
#define KEPT_RDX -32
#define KEPT_RSI -40
#define KEPT_RDI -48
#define KEPT_R8 -56
#define KEPT_R9 -64
#define KEPT_R10 -72
#define KEPT_R11 -80
#define KEPT_TOP -88
#define KEPT_NODE -96
#define RED_ZONE 128

// Which clock a stamp is taken from: the counter, or the thread's own clock, with or without reports of switches
// (switches.cc).
#define CLOCK_IS_COUNTER 0
#define CLOCK_WITH_SIGN 1
#define CLOCK_WITHOUT_SIGN 2

// From the CFA (rsp + 8 on entry).
#define CFA(kept) (kept - 8)

        .section .tbss,"awT",@nobits
        .balign 8
        .hidden libprof_state
        .globl  libprof_state
        .type   libprof_state, @object
        .size   libprof_state, 8
libprof_state:
        .zero   8

        .data
        .balign 64
        .hidden enter_hook
        .hidden leave_hook
        .globl  enter_hook
        .globl  leave_hook
        .globl  _profhooks
        .type   _profhooks, @object
        .size   _profhooks, 16
_profhooks:
enter_hook:
        .quad   enter_elapsed
leave_hook:
        .quad   leave_elapsed

        // Of libraries: see libraries.cc.
        .hidden library_enter_hook
        .hidden library_leave_hook
        .globl  library_enter_hook
        .globl  library_leave_hook
library_enter_hook:
        .quad   hook_off
library_leave_hook:
        .quad   hook_off

        .text

.macro FUNCTION name
        .balign 64
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
.endm

.macro HIDDEN_FUNCTION name
        .hidden \name
        FUNCTION \name
.endm

.macro END_FUNCTION name
        .cfi_endproc
        .size   \name, . - \name
.endm

// Registers. lahf and seto keep all six status flags; pushf and popf would cost as much as a time stamp. Stores limit
// the speed of the counting hooks, so these save only three registers on leaving, five on entering, and keep the flags
// in rax.
.macro KEEP_THREE
        mov     %rax, KEPT_RAX(%rsp)
        mov     %rcx, KEPT_RCX(%rsp)
        mov     %rdx, KEPT_RDX(%rsp)
        .cfi_offset %rax, CFA(KEPT_RAX)
        .cfi_offset %rcx, CFA(KEPT_RCX)
        .cfi_offset %rdx, CFA(KEPT_RDX)
        lahf
        seto    %al
.endm

.macro KEEP_TWO_MORE
        mov     %rsi, KEPT_RSI(%rsp)
        mov     %rdi, KEPT_RDI(%rsp)
        .cfi_offset %rsi, CFA(KEPT_RSI)
        .cfi_offset %rdi, CFA(KEPT_RDI)
.endm

.macro KEEP_FLAGS
        mov     %rax, KEPT_FLAGS(%rsp)
.endm

.macro RESTORE_TWO_MORE
        mov     KEPT_RSI(%rsp), %rsi
        mov     KEPT_RDI(%rsp), %rdi
.endm

.macro RESTORE_FLAGS
        mov     KEPT_FLAGS(%rsp), %rax
.endm

.macro RESTORE_THREE_AND_RETURN
        mov     KEPT_RCX(%rsp), %rcx
        mov     KEPT_RDX(%rsp), %rdx
        add     $127, %al               // sets OF if it was set
        sahf
        mov     KEPT_RAX(%rsp), %rax
        ret
.endm

// rcx = S; \top = T. Jumps to \none if the thread has no state yet.
.macro FIND_STATE top, none
        mov     libprof_state@gottpoff(%rip), %rcx
        mov     %fs:(%rcx), %rcx
        test    %rcx, %rcx
        jz      \none
        mov     STATE_TOP(%rcx), \top
.endm

// \node = address of the node whose block number is in \number, the lower half of the same register.
.macro NODE_ADDRESS node
        shl     $PROF_BLOCK_SHIFT, \node
        add     STATE_BASE(%rcx), \node
.endm

// The fast path of entering up to instruction 1 above. Leaves rcx = S, rdi = C and, unless \temp is rsi, rsi = P.
// \temp may be changed; rax holds the flags if \temp is rsi. \careful: another stack may end less than LARGEST_FRAME below.
.macro ENTER_NODE variant, temp, slowly, careful
        FIND_STATE %rdx, \slowly
        mov     PROF_FRAME_SLOT(%rcx,%rdx), %rsi
        sub     %rsp, %rsi
        dec     %rsi
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
        test    $0xfff, %edx
        jz      \slowly
        mov     %rdx, STATE_TOP(%rcx)           // 2
.endm

.macro COUNT
        incq    PROF_NODE_COUNT(%rdi)           // 4
.endm

// Instruction 2: node and flags of the new frame (rdx) in one word. \temp is changed.
.macro STORE_NODE temp
        mov     %rdi, \temp
        sub     STATE_BASE(%rcx), \temp
        shr     $PROF_BLOCK_SHIFT, \temp
        mov     \temp, PROF_FRAME_NODE(%rcx,%rdx)
.endm

// Out of line: not the function called last from here, so look into the table of children.
.macro FIND_CHILD variant, slowly
.Lother_child_\variant:
        mov     %r8, KEPT_R8(%rsp)
        mov     %r9, KEPT_R9(%rsp)
        mov     %r10, KEPT_R10(%rsp)
        mov     (%rsp), %r8                     // pc
        mov     STATE_TABLE(%rcx), %r9
        mov     PROF_FRAME_NODE(%rcx,%rdx), %esi // block of P
        imul    $HASH_PARENT, %rsi, %rdi
        add     %r8, %rdi
        imul    $HASH_MIX, %rdi, %rdi
        shr     $(HASH_SHIFT - 4), %rdi
        and     TABLE_MASK(%r9), %rdi
        mov     $MOST_PROBES, %r10d
1:      cmp     %r8, LINK_PC(%r9,%rdi)
        jne     2f
        cmp     %esi, LINK_PARENT(%r9,%rdi)
        jne     3f
        mov     LINK_CHILD(%r9,%rdi), %edi
        NODE_ADDRESS %rsi                       // P
        mov     %edi, PROF_NODE_LAST(%rsi)
        NODE_ADDRESS %rdi                       // C
        mov     KEPT_R8(%rsp), %r8
        mov     KEPT_R9(%rsp), %r9
        mov     KEPT_R10(%rsp), %r10
        jmp     .Lhave_child_\variant
2:      cmpq    $0, LINK_PC(%r9,%rdi)
        je      4f
3:      add     $LINK_SIZE, %rdi
        and     TABLE_MASK(%r9), %rdi
        dec     %r10d
        jnz     1b
4:      mov     KEPT_R8(%rsp), %r8
        mov     KEPT_R9(%rsp), %r9
        mov     KEPT_R10(%rsp), %r10
        jmp     \slowly
.endm

// \stamp = the counter. Changes rax and rdx. Both halves are parts of different bits, so that their sum is the whole.
.macro TIME_STAMP stamp
        rdtsc
        shl     $32, %rdx
        lea     (%rax,%rdx), \stamp
.endm

// Turns a stamp of the counter into one of the thread's own clock, see cpu_clock.cc; goes to .Lswitched_\variant if it
// has been off its processor since that was asked. Changes rax; rdi = the thread.
.macro USE_CLOCK variant, stamp, clock
.if \clock == CLOCK_WITH_SIGN
        mov     STATE_SIGN(%rcx), %rax
        mov     (%rax), %rax
        cmp     STATE_EXPECTED(%rcx), %rax
        jne     .Lswitched_\variant
        sub     STATE_AWAY(%rcx), \stamp
.elseif \clock == CLOCK_WITHOUT_SIGN
        sub     STATE_AWAY(%rcx), \stamp
        mov     \stamp, %rax
        sub     PROF_THREAD_LAST_TSC(%rdi), %rax
        cmp     $LONGEST_UNASKED, %rax          // unsigned: or behind
        ja      .Lswitched_\variant
.endif
.endm

// Gives the node at rsi the time up to the stamp of the thread at rdi. Changes rax and the stamp. Goes to .Lagain_
// \variant if a handler has been here meanwhile.
.macro GIVE_TIME variant, stamp
        mov     PROF_THREAD_LAST_TSC(%rdi), %rax // L
        cmp     %rax, \stamp
        jb      .Lbehind_\variant
        cmpxchg \stamp, PROF_THREAD_LAST_TSC(%rdi) // 5, b
        jne     .Lagain_\variant
        sub     %rax, \stamp
        add     \stamp, PROF_NODE_CYCLES(%rsi)  // 6, c
.Lgiven_\variant:
.endm

// Out of line: the stamp is behind the last one, L in rax. Only the counter itself can have been set back. Changes rsi
// and rdx.
.macro LOOK_FOR_SETBACK variant, stamp
        mov     %rax, %rsi
        TIME_STAMP \stamp
        mov     %rsi, %rax
        sub     \stamp, %rsi
        cmp     $SMALLEST_SETBACK, %rsi         // signed: by now it may be behind the stamp
        jl      1f
        cmpxchg \stamp, PROF_THREAD_LAST_TSC(%rdi)
1:
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
.Lgive_\variant:
        USE_CLOCK \variant, %r11, \clock
        GIVE_TIME \variant, %r11                // 5, 6
        mov     %rsp, PROF_FRAME_SLOT(%rcx,%rdx) // 7
        mov     KEPT_R11(%rsp), %r11
        RESTORE_TWO_MORE
        RESTORE_FLAGS
        RESTORE_THREE_AND_RETURN
.Lagain_\variant:
        mov     %rdx, KEPT_TOP(%rsp)
        TIME_STAMP %r11
        mov     KEPT_TOP(%rsp), %rdx
        jmp     .Lgive_\variant
.Lbehind_\variant:
.if \clock == CLOCK_IS_COUNTER
        mov     %rdx, KEPT_TOP(%rsp)
        LOOK_FOR_SETBACK \variant, %r11
        mov     KEPT_TOP(%rsp), %rdx
.endif
        jmp     .Lgiven_\variant
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

// rdx = time stamp; flags and registers are kept for the way through C++.
.macro STAMP_LEAVE
        KEEP_FLAGS
        TIME_STAMP %rdx
        KEEP_TWO_MORE
.endm

// The top frame is rcx + rax, and our own: rsi = C, rdi = the thread. Keeps rax.
.macro LEAVE_TIMED variant, clock
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
.Lgive_leave_\variant:
        USE_CLOCK leave_\variant, %rdx, \clock
        GIVE_TIME leave_\variant, %rdx          // b, c
        mov     KEPT_TOP(%rsp), %rax
        movq    $0, PROF_FRAME_SLOT(%rcx,%rax)  // d
        sub     $PROF_FRAME_SIZE, %rax
        mov     %rax, STATE_TOP(%rcx)           // e
.Lno_state_\variant:
        RESTORE_TWO_MORE
        RESTORE_FLAGS
        RESTORE_THREE_AND_RETURN
.Lagain_leave_\variant:
        TIME_STAMP %rdx
        jmp     .Lgive_leave_\variant
.Lbehind_leave_\variant:
.if \clock == CLOCK_IS_COUNTER
        LOOK_FOR_SETBACK leave_\variant, %rdx
.endif
        jmp     .Lgiven_leave_\variant
.if \clock != CLOCK_IS_COUNTER
.Lswitched_leave_\variant:
        jmp     leave_slowly
.endif
        END_FUNCTION leave_\variant
.endm

        LEAVE_TIMED elapsed, CLOCK_IS_COUNTER
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

// On the way to C++: registers that C++ may change and that the fast path has not saved are saved in the rest of the
// red zone, and rsp moves below it.
.macro CALL_CXX function
        .cfi_offset %rax, CFA(KEPT_RAX)
        .cfi_offset %rcx, CFA(KEPT_RCX)
        .cfi_offset %rdx, CFA(KEPT_RDX)
        .cfi_offset %rsi, CFA(KEPT_RSI)
        .cfi_offset %rdi, CFA(KEPT_RDI)
        mov     %r8, KEPT_R8(%rsp)
        mov     %r9, KEPT_R9(%rsp)
        mov     %r10, KEPT_R10(%rsp)
        mov     %r11, KEPT_R11(%rsp)
        .cfi_offset %r8, CFA(KEPT_R8)
        .cfi_offset %r9, CFA(KEPT_R9)
        .cfi_offset %r10, CFA(KEPT_R10)
        .cfi_offset %r11, CFA(KEPT_R11)
        lea     -RED_ZONE(%rsp), %rsp
        .cfi_adjust_cfa_offset RED_ZONE
        call    \function
        lea     RED_ZONE(%rsp), %rsp
        .cfi_adjust_cfa_offset -RED_ZONE
        mov     KEPT_R8(%rsp), %r8
        mov     KEPT_R9(%rsp), %r9
        mov     KEPT_R10(%rsp), %r10
        mov     KEPT_R11(%rsp), %r11
.endm

.macro CALL_SLOW function
        mov     %rcx, %rdi
        mov     %rsp, %rsi
        CALL_CXX \function
        RESTORE_TWO_MORE
        RESTORE_FLAGS
        RESTORE_THREE_AND_RETURN
.endm

        HIDDEN_FUNCTION enter_slowly_with_r11
        mov     KEPT_R11(%rsp), %r11
        jmp     enter_slowly
        END_FUNCTION enter_slowly_with_r11

// rcx = S
        HIDDEN_FUNCTION enter_slowly
        mov     (%rsp), %rdx
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
        RESTORE_TWO_MORE
        RESTORE_FLAGS
        RESTORE_THREE_AND_RETURN
        END_FUNCTION enter_switched

// rcx = S, rdx = time stamp
        HIDDEN_FUNCTION leave_slowly
        CALL_SLOW leave_slow
        END_FUNCTION leave_slowly

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
        mov     libprof_state@gottpoff(%rip), %rdi
        mov     %fs:(%rdi), %rdi                // S, or 0: a handler has forked, and this is the child
        TIME_STAMP %rax
        test    %rdi, %rdi
        jz      1f
        sub     STATE_AWAY(%rdi), %rax
1:      mov     %rax, PROF_FRAME_START(%rcx)
        mov     %rsp, PROF_FRAME_SLOT(%rcx)     // 7
        RESTORE_TWO_MORE
        RESTORE_FLAGS
        RESTORE_THREE_AND_RETURN
        END_FUNCTION enter_timed

// rcx = S, the frame - S in KEPT_TOP, rdx = time stamp
        HIDDEN_FUNCTION leave_timed
        mov     %rcx, %rdi
        mov     KEPT_TOP(%rsp), %rsi
        add     %rcx, %rsi
        CALL_CXX leave_timed_call
        RESTORE_TWO_MORE
        RESTORE_FLAGS
        RESTORE_THREE_AND_RETURN
        END_FUNCTION leave_timed

// For when the counter may not be read any more (sandbox.cc): the slow path takes the last stamp again and again.
        HIDDEN_FUNCTION enter_without_tsc
        KEEP_THREE
        KEEP_FLAGS
        KEEP_TWO_MORE
        FIND_STATE %rdx, 1f
1:      jmp     enter_slowly
        END_FUNCTION enter_without_tsc

        HIDDEN_FUNCTION leave_without_tsc
        KEEP_THREE
        KEEP_FLAGS
        KEEP_TWO_MORE
        FIND_STATE %rdx, .Lno_state_elapsed
        xor     %edx, %edx                      // it may be readable again by now
        jmp     leave_slowly
        END_FUNCTION leave_without_tsc

        HIDDEN_FUNCTION hook_off
        ret
        END_FUNCTION hook_off

        FUNCTION _profin
        jmp     *enter_hook(%rip)
        END_FUNCTION _profin

        FUNCTION _profout
        jmp     *leave_hook(%rip)
        END_FUNCTION _profout

        FUNCTION _proflibin
        jmp     *library_enter_hook(%rip)
        END_FUNCTION _proflibin

        FUNCTION _proflibout
        jmp     *library_leave_hook(%rip)
        END_FUNCTION _proflibout

// rax = program headers, ecx = their number. Keeps what DT_INIT is called with.
        FUNCTION _profload
        push    %rdi
        push    %rsi
        push    %rdx
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 32
        mov     %rax, %rdi
        mov     %ecx, %esi
        call    note_loaded_library
        add     $8, %rsp
        pop     %rdx
        pop     %rsi
        pop     %rdi
        .cfi_adjust_cfa_offset -32
        ret
        END_FUNCTION _profload

        HIDDEN_FUNCTION get_state
        mov     libprof_state@gottpoff(%rip), %rax
        mov     %fs:(%rax), %rax
        ret
        END_FUNCTION get_state

        HIDDEN_FUNCTION set_state
        mov     libprof_state@gottpoff(%rip), %rax
        mov     %rdi, %fs:(%rax)
        ret
        END_FUNCTION set_state

        HIDDEN_FUNCTION thread_word_offset
        mov     libprof_state@gottpoff(%rip), %rax
        ret
        END_FUNCTION thread_word_offset

// uint64_t run_on_stack(char* stack_top, uint64_t (*function)(State*, uint64_t), State* state, uint64_t argument)
        HIDDEN_FUNCTION run_on_stack
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        mov     %rdi, %rsp
        mov     %rsi, %rax
        mov     %rdx, %rdi
        mov     %rcx, %rsi
        call    *%rax
        mov     %rbp, %rsp
        pop     %rbp
        .cfi_def_cfa %rsp, 8
        ret
        END_FUNCTION run_on_stack

// The code that calibrate.cc measures: functions that do nothing, two with hooks and one without; and rounds of four
// calls, where every other call is of another function than the one before, or all are of the same function.
.macro PROBED name
        HIDDEN_FUNCTION \name
        call    *enter_hook(%rip)
        .hidden \name\()_pc
        .globl  \name\()_pc
\name\()_pc:
        call    *leave_hook(%rip)
        ret
        END_FUNCTION \name
.endm

        PROBED  probed
        PROBED  other_probed

        HIDDEN_FUNCTION bare
        ret
        END_FUNCTION bare

.macro CALL_IN_ROUNDS name, function, other
        HIDDEN_FUNCTION \name
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbx, -16
        mov     %rdi, %rbx
1:      call    \function
        call    \function
        call    \other
        call    \other
        dec     %rbx
        jnz     1b
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        ret
        END_FUNCTION \name
.endm

        CALL_IN_ROUNDS call_probed, probed, other_probed
        CALL_IN_ROUNDS call_one_probed, probed, probed
        CALL_IN_ROUNDS call_bare, bare, bare

        .section .note.GNU-stack,"",@progbits
