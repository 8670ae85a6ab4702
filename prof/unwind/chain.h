// The chain of calls that led to where a thread is, from its registers and a copy of the top of its stack.
//
// It is followed from frame to frame by the unwind tables, as an exception would be, in code of no file by frame
// pointers. Nothing is guessed: where the way is not known the chain ends, and it is said why. A register whose value
// in a caller's frame cannot be told, because it is saved where the copy of the stack does not reach, is unknown from
// there on, and ends the chain only if it is needed.
//
// A function that jumped to another at its end has no frame any more: the caller of the other is its own.

#ifndef PROF_UNWIND_CHAIN_H
#define PROF_UNWIND_CHAIN_H

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "unwind_table.h"

namespace prof {

// An instruction, in a way that does not depend on where it was loaded.
struct FramePlace {
  uint32_t module = 0;  // a number of the caller's
  uint64_t offset = 0;  // in its file; 0 in memory of no file
  auto operator<=>(const FramePlace&) const = default;
};

enum class ChainEnd : uint8_t {
  whole,         // at main's caller, or where the thread began
  no_table,      // in code of a file whose tables do not say how to go on
  generated,     // in code of no file, without a frame pointer
  no_code,       // at an address at which there is no code
  cut_off,       // at the end of the copy of the stack
  other_stack,   // at a frame that is elsewhere, as a signal handler's on a stack of its own has it
  not_followed,  // at tables of a form that is not known, or whose values cannot be
  too_deep,
};
inline constexpr unsigned kChainEnds = unsigned(ChainEnd::too_deep) + 1;

// As in a file of samples, and for people: "in code without unwind tables".
const char* name_of(ChainEnd end);
const char* text_of(ChainEnd end);

struct StackSlice {
  uint64_t start = 0;      // the stack pointer
  std::string_view bytes;  // from there on
  std::optional<uint64_t> read(uint64_t address) const;
};

struct ThreadState {
  std::array<uint64_t, kReturnAddress> registers = {};  // by DWARF's numbers
  uint64_t pc = 0;
  StackSlice stack;
};

// Where an address is, if code is there; and the tables of its file, or null.
struct FoundCode {
  FramePlace place;
  UnwindTable* table = nullptr;
};
using FindCode = std::function<std::optional<FoundCode>(uint64_t address)>;

// Sets `frames`, the innermost first. Its place is that of the instruction the thread is at, those of the others are of
// the last byte of the instruction that called.
ChainEnd chain_of(const ThreadState& state, const FindCode& find, std::vector<FramePlace>& frames);

}  // namespace prof

#endif
