// _profin and _profout: the hooks that every function calls on entry and before it leaves. _proftail and _profjump:
// those that it calls before a tail call instead of _profout.
//
// Files. The forms of the hooks are in enter_hooks.S, leave_hooks.S and tail_hooks.S, and the steps that they share in
// hook_macros.h. Here are the words and the names that rewritten programs and libraries know, and why the hooks are
// right.
//
// The problem. A hook runs tens of millions of times per second, between instructions of a program that does not know
// of it. It must keep every register and every flag, live on the red zone alone (a stack may be 4 KiB), cost little
// more than the two `rdtsc` of a pair, and leave the tree right when a signal handler runs hooks of its own between any
// two of its instructions, or leaves with siglongjmp and never comes back, or the process is killed there.
//
// Where things are. rsp points to the return address into the function's copy (Node::pc). Above it stands the
// function's own return address, so rsp is the same in both hooks of a call; it is the frame's SLOT, which identifies
// it. Signal delivery skips the 128 bytes below rsp, and neither a function's entry nor its return has anything live
// there, so registers are kept there. rsp does not move, and the rules for unwinding are those of a function just
// called.
//
//     S = the thread's State   T = S->top   (S,T) = top frame   P = its node   C = the node of the function called
//
// Entering. The one comparison  top.slot - slot - 2 < 32 KiB  (unsigned) covers everything that may be wrong: the frame
// at the top is gone (its slot, without the mark in bit 0, is not above ours), it lies on another stack, it is being
// filled (slot 0), the state was wiped by fork (T is 0, so S itself is read, whose first word is T, 0). If it fails,
// shadow_stack.cc settles the case.
// (When another stack is known to end just below this one, the "careful" forms of the enter hook are in use, with one
// more comparison: see stack_switch.cc.) The end of a chunk of frames shows in its address
// (CHUNK_ALIGNMENT). Then
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
//     f  the duration, stamp - (T).start, is counted (durations.cc); 1 gave the frame its start
//
// Tail calls. The function jumped to finds the stack as the one that jumps found it: both have the same slot. So before
// a jump to a function whose hook is known, after which the jump leads, _proftail makes the one's frame the other's:
//
//     t  stamp = time stamp;  C = the node of the function jumped to, a child of P, the node of the one that jumps
//     u  C.count++
//     v  if Thread::last_tsc is still L, it becomes the stamp; else a new stamp, and v again
//     w  P.cycles += stamp - L
//     x  top.node = C
//
// There is no moment without the frame, so a handler's hooks find it as they would between a hook and the next: before
// x they are called by the one function, after it by the other. Of u and x both are done or none, but for a handler
// that leaves by siglongjmp or a kill. v and w are as 5 and 6. _profjump, before a jump that may lead anywhere, is in
// C++ (tail_calls.cc).
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
//              the nearest frame that has a slot, T, as its parent. It marks the frame's slot so that the fast exit
//              does not match it: the exit, too, must skip the entry that is being filled. Nothing touches entry T + 1.
//   d to e:    as 2 to 7. After e: as before 2; f is one addition.
//   A count is one instruction (4), so no count is lost or doubled.
//   A handler before 5 gives P its time up to then. If L was read before that, we find at 5 that last_tsc has changed,
//   and only what came after is left; if L is read later, our stamp is after it, and there is no time to give. One
//   after 5 finds that P has been given its time; 6 adds to what it may add as well: sums commute. b and c are the same
//   with C, whose frame is still there.
//
// A handler that leaves by siglongjmp. We never go on. An entry without slot stays, and the slow path removes it when
// frames above or below it are gone. From then on time goes to the node on top. Between 5 and 6, or b and c, one
// stretch is lost, that since the hook before: never more, and nothing is given twice.
//
// A handler that changes to another coroutine. We go on later, perhaps much later. What we do then, we do to the frames
// of our own stack, for rdx was kept; last_tsc has changed if time has been given meanwhile; and 6 and c may come as
// late as they like.
//
// Taking a new stamp at 5 or b comes to an end. It takes a handler between the reading of L and the comparison and none
// between the stamp and the reading of L, else the stamp is after L; so one after each instruction (single steps) does
// not do it.
//
// A stamp after last_tsc was taken before a handler's, or is that of another processor, whose counter is a little
// after: then there is no time to give. Only if a stamp taken after L was read is far after it, the counter was set
// back, and last_tsc follows it.
//
// Adaptive hooks do 2, 3, 4, 7 and d, e, as counting ones do, and compare the node's count with that of the call to be
// timed next. A timed call goes through C++ (times.cc) between 3 and 7, and its frame's flags tell the exit to do so
// before d. The hooks for time on a processor are those for elapsed time, but their stamps are of the thread's own
// clock. When that must be set, because the thread has been off its processor, the stamp and what follows are made in
// C++ (cpu_clock.cc, enter_after_switch).
//
// Hooks that leave (leaving.cc) are those for elapsed time, of which the one for leaving has a call looked at in C++
// now and then, after e. Where they have left a function it enters and leaves without a frame, as functions without
// hooks do; a frame whose exit is jumped over is as one that longjmp has left.
//
// A kill. Counts and times in the file are those of the instructions executed. What a thread ran since its last hook
// belongs to the node of its top frame (format.h).
//
// Threads. Everything above is the thread's own. Programs call the hooks through two words in memory, which select the
// form of the hooks (hook_selection.h; _proftail and _profjump have words as well). They are stored when the process
// begins. A thread that is in another form of the hooks at that moment has no state yet, so it takes the slow path.

#include "assembler.h"

        .data
        .balign 64
        .hidden hook_words
        .globl  hook_words
        .globl  _profhooks
        .type   _profhooks, @object
        .size   _profhooks, 48
_profhooks:
hook_words:
        .quad   enter_elapsed
        .quad   leave_elapsed
        .quad   tail_elapsed
        .quad   jump_anywhere
        .quad   _proftracefull  // of static programs; never changed
        .quad   _proftask       // the same

        // Of libraries: see libraries.cc.
        .hidden library_hook_words
        .globl  library_hook_words
library_hook_words:
        .quad   hook_off
        .quad   hook_off
        .quad   hook_off
        .quad   hook_off

        .text

        HIDDEN_FUNCTION hook_off
        ret
        END_FUNCTION hook_off

.macro JUMP_THROUGH name, word
        FUNCTION \name
        jmp     *\word(%rip)
        END_FUNCTION \name
        ALSO_KNOWN \name
.endm

        JUMP_THROUGH _profin, hook_words
        JUMP_THROUGH _profout, hook_words+8
        // Before it the distances from it to the start and to the end of this file in memory: copies of OCaml programs
        // tell the run-time system that a stack may overflow here (linker-rewrite/move/relocate.cc).
        .hidden __ehdr_start
        .hidden etext
        .balign 64
        .skip   48, 0xcc
        .quad   __ehdr_start - .Lproftail
        .quad   etext - .Lproftail
.Lproftail:
        JUMP_THROUGH _proftail, hook_words+16
        JUMP_THROUGH _profjump, hook_words+24

        JUMP_THROUGH _proflibin, library_hook_words
        JUMP_THROUGH _proflibout, library_hook_words+8
        JUMP_THROUGH _proflibtail, library_hook_words+16
        JUMP_THROUGH _proflibjump, library_hook_words+24

// Begins a rewritten library that has been loaded: see libraries.cc. rax = program headers, ecx = their number. Keeps
// what DT_INIT is called with.
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
        ALSO_KNOWN _profload

// Called by the code of a record that has no place in the window (trace.cc). 16(%rsp): the end of the place that it
// took, which may be changed; 8(%rsp): the record's length. Keeps all registers and the flags.
        .macro KEEPING_ALL name, function
        FUNCTION \name
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rbp, -16
        mov     %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushf
        cld
        push    %rax
        push    %rcx
        push    %rdx
        push    %rsi
        push    %rdi
        push    %r8
        push    %r9
        push    %r10
        push    %r11
        mov     16(%rbp), %rsi
        lea     24(%rbp), %rdi
        and     $-16, %rsp
        call    \function
        lea     -80(%rbp), %rsp
        pop     %r11
        pop     %r10
        pop     %r9
        pop     %r8
        pop     %rdi
        pop     %rsi
        pop     %rdx
        pop     %rcx
        pop     %rax
        popf
        pop     %rbp
        .cfi_def_cfa %rsp, 8
        ret
        END_FUNCTION \name
        ALSO_KNOWN \name
        .endm

        KEEPING_ALL _proftracefull, trace_full
        // Of programs that an older profld has rewritten: 16(%rsp) is the place itself.
        KEEPING_ALL _proftrace, trace_full_at
