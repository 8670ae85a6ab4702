// The steps that hooks for entering, for leaving and for tail calls have in common, in assembler. hooks.S says what the
// hooks do; the numbers and letters of instructions are those that are given there.
// clang-format off

#ifndef LIBPROF_HOOK_MACROS_H
#define LIBPROF_HOOK_MACROS_H

#include "assembler.h"
#include "libprof/data/frames.h"
#include "libprof/format/format.h"
#include "libprof/data/state.h"

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
#define KEPT_DURATION -104
#define KEPT_SPARE -112
#define RED_ZONE 128

// Of hook_costs (libprof/file/durations.h).
#define COST_INSIDE 0
#define COST_PAIR 8
#define COST_LONGEST_SHORT 32
#define OTHERS 48  // bytes: the registers that C++ keeps

// Which clock a stamp is taken from: the counter, or the thread's own clock, with or without reports of switches
// (switches.cc).
#define CLOCK_IS_COUNTER 0
#define CLOCK_WITH_SIGN 1
#define CLOCK_WITHOUT_SIGN 2

// From the CFA (rsp + 8 on entry).
#define CFA(kept) (kept - 8)

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

.macro RESTORE_THREE
        mov     KEPT_RCX(%rsp), %rcx
        mov     KEPT_RDX(%rsp), %rdx
        add     $127, %al               // sets OF if it was set
        sahf
        mov     KEPT_RAX(%rsp), %rax
.endm

.macro RESTORE_THREE_AND_RETURN
        RESTORE_THREE
        ret
.endm

.macro RESTORE_FIVE_AND_RETURN
        RESTORE_TWO_MORE
        RESTORE_FLAGS
        RESTORE_THREE_AND_RETURN
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

.macro COUNT
        incq    PROF_NODE_COUNT(%rdi)           // 4
.endm

.macro RESTORE_AFTER_SEARCH pc_is_known
.if !\pc_is_known
        mov     KEPT_R8(%rsp), %r8
.endif
        mov     KEPT_R9(%rsp), %r9
        mov     KEPT_R10(%rsp), %r10
.endm

// Out of line: not the function called last from here, so look into the table of children. \pc_is_known: r8 is the pc,
// and kept.
.macro FIND_CHILD variant, slowly, pc_is_known=0
.Lother_child_\variant:
.if !\pc_is_known
        mov     %r8, KEPT_R8(%rsp)
        mov     (%rsp), %r8                     // pc
.endif
        mov     %r9, KEPT_R9(%rsp)
        mov     %r10, KEPT_R10(%rsp)
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
        RESTORE_AFTER_SEARCH \pc_is_known
        jmp     .Lhave_child_\variant
2:      cmpq    $0, LINK_PC(%r9,%rdi)
        je      4f
3:      add     $LINK_SIZE, %rdi
        and     TABLE_MASK(%r9), %rdi
        dec     %r10d
        jnz     1b
4:      RESTORE_AFTER_SEARCH \pc_is_known
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
        cmp     $LONGEST_UNASKED, %rax          // unsigned: or after
        ja      .Lswitched_\variant
.endif
.endm

// Gives the node at rsi the time up to the stamp of the thread at rdi. Changes rax and the stamp. Goes to .Lagain_
// \variant if a handler has been here meanwhile.
.macro GIVE_TIME variant, stamp
        mov     PROF_THREAD_LAST_TSC(%rdi), %rax // L
        cmp     %rax, \stamp
        jb      .Lafter_\variant
        cmpxchg \stamp, PROF_THREAD_LAST_TSC(%rdi) // 5, b
        jne     .Lagain_\variant
        sub     %rax, \stamp
        add     \stamp, PROF_NODE_CYCLES(%rsi)  // 6, c
.Lgiven_\variant:
.endm

// Out of line: the stamp is after the last one, L in rax. Only the counter itself can have been set back. Changes rax
// and rdx.
.macro LOOK_FOR_SETBACK variant, stamp
        mov     %rsi, KEPT_SPARE(%rsp)
        mov     %rax, %rsi
        TIME_STAMP \stamp
        mov     %rsi, %rax
        sub     \stamp, %rsi
        cmp     $SMALLEST_SETBACK, %rsi         // signed: by now it may be after the stamp
        jl      1f
        cmpxchg \stamp, PROF_THREAD_LAST_TSC(%rdi)
1:      mov     KEPT_SPARE(%rsp), %rsi
.endm

// Out of line, where GIVE_TIME goes: once more with another stamp if a handler has been here; no time is given if the
// stamp is after. The top, in rdx, is kept.
.macro TIME_AGAIN variant, stamp, clock
.Lagain_\variant:
        mov     %rdx, KEPT_TOP(%rsp)
        TIME_STAMP \stamp
        mov     KEPT_TOP(%rsp), %rdx
        jmp     .Lgive_\variant
.Lafter_\variant:
.if \clock == CLOCK_IS_COUNTER
        mov     %rdx, KEPT_TOP(%rsp)
        LOOK_FOR_SETBACK \variant, \stamp
        mov     KEPT_TOP(%rsp), %rdx
.endif
        jmp     .Lgiven_\variant
.endm

// Keeps how long the call of the frame rcx + \frame has lasted at the stamp, as a negative number. rdi = the thread.
// Changes rax.
.macro TAKE_DURATION stamp, frame
        mov     PROF_FRAME_START(%rcx,\frame), %rax
        add     PROF_THREAD_HOOK_CYCLES(%rdi), %rax
        sub     \stamp, %rax
        mov     %rax, KEPT_DURATION(%rsp)
.endm

// Counts a call of the node at rsi among those that lasted as long as was kept (durations.cc), and returns.
// \cost: what the hooks have taken for it. rcx = S, rdi = the thread. Changes all five registers.
.macro COUNT_DURATION_AND_RETURN variant, cost
        mov     KEPT_DURATION(%rsp), %rdx
        mov     hook_costs+\cost(%rip), %rax
        add     %rax, PROF_THREAD_HOOK_CYCLES(%rdi)
        cmp     hook_costs+COST_LONGEST_SHORT(%rip), %rdx
        jge     .Lshort_\variant                // signed
        add     hook_costs+COST_INSIDE(%rip), %rdx
        neg     %rdx
        mov     STATE_BASE(%rcx), %rdi
        mov     PROF_NODE_DURATIONS(%rsi), %eax
        test    %eax, %eax
        jz      count_duration_slowly
        shl     $PROF_BLOCK_SHIFT, %rax
        add     %rdi, %rax                      // Durations
        cmp     PROF_DURATIONS_LEAST(%rax), %rdx
        jb      count_duration_slowly
        cmp     PROF_DURATIONS_GREATEST(%rax), %rdx
        ja      count_duration_slowly           // also if there is no such octave
        bsr     %rdx, %rcx
        mov     PROF_DURATIONS_OCTAVES-4*PROF_SHORT_CALL_SHIFT(%rax,%rcx,4), %eax
        test    %eax, %eax
        jz      count_duration_slowly
        sub     $PROF_OCTAVE_SHIFT, %ecx
        shr     %cl, %rdx                       // bucket + 16
        shl     $PROF_BLOCK_SHIFT, %rax
        add     %rdi, %rax
        incq    -(8 << PROF_OCTAVE_SHIFT)(%rax,%rdx,8)
        RESTORE_FIVE_AND_RETURN
.Lshort_\variant:
        incl    PROF_NODE_SHORT(%rsi)
        jz      short_calls_are_full
        RESTORE_FIVE_AND_RETURN
.endm

// On the way to C++: registers that C++ may change and that the fast path has not saved are saved in the rest of the
// red zone, and rsp moves below it. \all: the others follow there, for code that wants to know them.
.macro CALL_CXX function, all=0
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
.if \all
        lea     -RED_ZONE-OTHERS(%rsp), %rsp
        .cfi_adjust_cfa_offset RED_ZONE+OTHERS
        mov     %rbx, (%rsp)
        mov     %rbp, 8(%rsp)
        mov     %r12, 16(%rsp)
        mov     %r13, 24(%rsp)
        mov     %r14, 32(%rsp)
        mov     %r15, 40(%rsp)
        call    \function
        lea     RED_ZONE+OTHERS(%rsp), %rsp
        .cfi_adjust_cfa_offset -(RED_ZONE+OTHERS)
.else
        lea     -RED_ZONE(%rsp), %rsp
        .cfi_adjust_cfa_offset RED_ZONE
        call    \function
        lea     RED_ZONE(%rsp), %rsp
        .cfi_adjust_cfa_offset -RED_ZONE
.endif
        mov     KEPT_R8(%rsp), %r8
        mov     KEPT_R9(%rsp), %r9
        mov     KEPT_R10(%rsp), %r10
        mov     KEPT_R11(%rsp), %r11
.endm

.macro CALL_SLOW function
        mov     %rcx, %rdi
        mov     %rsp, %rsi
        CALL_CXX \function
        RESTORE_FIVE_AND_RETURN
.endm

#endif
