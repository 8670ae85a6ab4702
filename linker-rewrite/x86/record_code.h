// The code that a copy runs in each basic block to write a record of it into the trace (profld --trace).
//
// The record has a place in a window of the trace file, of which the thread has two words, relative to the segment gs: the
// CURSOR, where the next record goes, and the LIMIT, where the window is full (libprof/trace.cc).
//
//     mov   $length, %r
//     xadd  %r, %gs:cursor      takes the place: one instruction, so a signal handler's records come before or behind it
//     cmp   %gs:limit, %r
//     jae   full                far away, behind the copy: the runtime sees to it that there is room, and may change r
//     movl  $number, (%r)
//
// This needs a register, and changes the flags. Where one is dead and they are, that is all. Else what is live is kept, on
// the stack below the red zone, or in rax.

#ifndef LINKER_REWRITE_X86_RECORD_CODE_H
#define LINKER_REWRITE_X86_RECORD_CODE_H

#include <vector>

#include "encoding.h"
#include "semantics.h"

namespace profld {

struct RecordCode {
  uint8_t size = 4;            // bytes of the record: 2 or 4
  uint8_t scratch = kRax;      // the register that is used
  bool saves_scratch = false;  // it is live
  bool keeps_flags = false;    // they are live; they are kept in rax, which is not the scratch register then
  bool saves_rax = false;      // with keeps_flags: rax is live
};

// The registers that may be used: those that a call does not preserve. (Code that unwinds from an instruction in the block
// may want the others.)
inline constexpr uint16_t kScratchRegisters = 0x0fc7;  // rax, rcx, rdx, rsi, rdi, r8 to r11

// Addresses of the words of the thread that the program starts in.
struct TraceWords {
  NewAddr cursor, limit;
  NewAddr runtime;  // a word that holds the address of the runtime's function for full windows
};

uint32_t length_of_record(const RecordCode& code);

// `full`: where the code for a full window stands. Returns where that goes on.
NewAddr write_record(InstructionWriter& out, const RecordCode& code, uint32_t number, const TraceWords& words,
                     NewAddr full);

// From the byte `at` of some code on, the stack pointer is `depth` bytes below where it was before the record.
struct StackDepth {
  uint32_t at, depth;
  bool operator==(const StackDepth&) const = default;
};

// Of the code of a record: ascending, and 0 in the end. Empty: it leaves the stack pointer alone.
std::vector<StackDepth> stack_depths(const RecordCode& code);
// Of the code for its full window. The first one is that of its first instruction; the last one is the same.
std::vector<StackDepth> stack_depths_of_full_window(const RecordCode& code);

inline constexpr uint32_t kFullWindowLength = 5 + 2 + 5 + kCallThroughLength + 2 + 2 + 8 + kJumpLength;

// Of kFullWindowLength bytes.
void write_full_window(InstructionWriter& out, const RecordCode& code, const TraceWords& words, NewAddr back);

}  // namespace profld

#endif
