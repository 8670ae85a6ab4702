// The code that a copy runs in each basic block to write a record of it into the trace (profld --trace).
//
// The record has a place in a window of the trace file, of which the thread has two words, relative to the segment gs:
// the CURSOR, where the next record goes, and the LIMIT, where the window is full (libprof/trace/trace.cc).
//
//     mov   %gs:cursor, %r
//     addq  $length, %gs:cursor  takes the place; a signal handler's records come before or after it
//     add   $length, %r          the end of the place, if no record came in between
//     cmp   %r, %gs:cursor
//     jne   full                 one did: far away, after the copy, the runtime finds the place that was taken, and
//                                changes r
//     cmp   %gs:limit, %r
//     jae   full                 the runtime sees to it that there is room, and may change r
//     movl  $number, -length(%r)
//
// Each record's cursor is the one that the record before has stored. Processors hand it on without delay from an
// addition to a load, but not to an exchange: xadd, which takes the place in one instruction, makes each record wait
// some eight cycles for the one before.
//
// This needs a register, and changes the flags. Where one is dead and they are, that is all. Else what is live is kept,
// on the stack below the red zone, or in rax.
//
// With profld --trace=memory, values stand after the number (libprof/format/trace.h): registers, for the addresses that
// the block computes from them. They are moved there one by one, and then the record is marked as whole:
//
//     movl  $number, -length(%r)
//     mov   %value, 4-length(%r)   and so on
//     movb  $whole, 3-length(%r)
//
// Three things cannot be moved so, and take a second register: rax where the flags are kept in it, which is copied
// before; the flags as they were, for the direction of string instructions (pushf, which needs the stack); and the base
// of fs (rdfsbase). Not all processors and kernels let programs read that, so a word of the thread is asked before;
// else the value stays 0.

#ifndef LINKER_REWRITE_X86_RECORD_CODE_H
#define LINKER_REWRITE_X86_RECORD_CODE_H

#include <vector>

#include "encoding.h"
#include "linker-rewrite/base/address.h"
#include "semantics.h"

namespace profld {

// A value in a record: the number of a general register, or one of these.
inline constexpr uint8_t kFsBase = 16, kProcessorFlags = 17;

struct RecordCode {
  uint8_t size = 4;            // bytes of the number: 2 or 4
  uint8_t scratch = kRax;      // the register that is used
  bool saves_scratch = false;  // it is live
  bool keeps_flags = false;    // they are live; they are kept in rax, which is not the scratch register then
  bool saves_rax = false;      // with keeps_flags: rax is live
  // After the number, which has 4 bytes then. Not the scratch registers.
  std::vector<uint8_t> values{};
  uint8_t second = kNoRegister;  // another scratch register, where values need it
  bool saves_second = false;     // it is live

  uint32_t length() const { return uint32_t(size + values.size() * sizeof(uint64_t)); }  // of the record, in bytes
};

// Whether such values need a second scratch register.
bool needs_second(const std::vector<uint8_t>& values, bool keeps_flags);

// The registers that may be used: those that a call does not preserve. (Code that unwinds from an instruction in the
// block may want the others.)
inline constexpr uint16_t kScratchRegisters = 0x0fc7;  // rax, rcx, rdx, rsi, rdi, r8 to r11

// Addresses of the words of the thread that the program starts in.
struct TraceWords {
  NewAddr cursor, limit, reads_segments;
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

// How far below its place in the program the stack pointer is where the values are moved.
uint32_t depth_of_values(const RecordCode& code);

// Of the code of a record: ascending, and 0 in the end. Empty: it leaves the stack pointer alone.
std::vector<StackDepth> stack_depths(const RecordCode& code);
// Of the code for its full window. The first one is that of its first instruction; the last one is the same.
std::vector<StackDepth> stack_depths_of_full_window(const RecordCode& code);

inline constexpr uint32_t kFullWindowLength = 5 + 2 + 5 + kCallThroughLength + 2 + 2 + 8 + kJumpLength;

// Of kFullWindowLength bytes.
void write_full_window(InstructionWriter& out, const RecordCode& code, const TraceWords& words, NewAddr back);

// The code of a record of a trace where it stands in a copy, or what it has out of line; or an increment out of line.
struct PlacedRecord {
  uint32_t at, size;  // offset in the copy, and bytes, with the jump after it
  OldAddr place;      // the instruction of the original whose row and handlers hold in it
  RecordCode code;
  bool is_full_window;  // it is the code for the record's full window
};

}  // namespace profld

#endif
