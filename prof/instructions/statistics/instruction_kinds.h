// What instructions do, in a few words.

#ifndef PROF_INSTRUCTIONS_STATISTICS_INSTRUCTION_KINDS_H
#define PROF_INSTRUCTIONS_STATISTICS_INSTRUCTION_KINDS_H

#include <cstdint>
#include <string_view>

namespace prof {

enum class InstructionKind : uint8_t {
  move,
  arithmetic,
  logic,
  shift,
  stack,
  condition,
  branch,
  jump,
  call,
  ret,
  string,
  floating,
  vector,
  crypto,
  atomic,
  nop,
  system,
  other,
  unknown  // its bytes are not known, or are no instruction
};
inline constexpr size_t kInstructionKinds = size_t(InstructionKind::unknown) + 1;

// Of the instruction that the code begins with.
InstructionKind kind_of_instruction(std::string_view code);

// For people: "integer arithmetic".
const char* name_of(InstructionKind kind);

}  // namespace prof

#endif
