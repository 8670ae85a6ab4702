// The instructions of a function, as far as profiles speak of them: where they begin, how they pass control on, and how
// they are written. Zydis decodes them and writes them.

#ifndef PROF_READ_INSTRUCTIONS_H
#define PROF_READ_INSTRUCTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace prof {

// How an instruction passes control on, if not to the next one.
enum class Transfer : uint8_t {
  none,
  call,
  call_indirect,
  jump,
  jump_indirect,
  branch,  // to its target, or on to the next
  ret,
  stop  // control does not go on: ud2, hlt, int3
};

struct Instruction {
  uint64_t address = 0;  // of its first byte
  uint8_t length = 1;    // bytes
  Transfer transfer = Transfer::none;
  bool only_moves = false;              // registers or the stack pointer get values, or it returns, as a function ends
  bool is_nop = false;                  // of any length
  bool is_known = true;                 // false: a byte that no instruction begins with
  std::optional<uint64_t> target = {};  // of a direct call, jump or branch
  std::optional<uint64_t> memory = {};  // the address of an operand in memory that is relative to the instruction
  uint64_t end() const { return address + length; }
};

// From the first byte of `code` to its last. `address`: of the first.
std::vector<Instruction> decode_instructions(std::string_view code, uint64_t address);

// As AT&T writes it, which is how objdump shows it: "mov %eax, -0x4(%rbp)". Targets are numbers. "(bad)" for a byte
// that is none. `code`: its bytes.
std::string text_of(const Instruction& instruction, std::string_view code);

}  // namespace prof

#endif
