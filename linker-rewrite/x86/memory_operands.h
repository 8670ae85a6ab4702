// Which operands in memory an instruction has, by its bytes: what prof tells of a program that it steps, and what
// profld has to write down so that prof can tell it.
//
// The decoder tells the operands in memory, those among them that no assembler writes: the stack of push, call and ret,
// what movs and its like point to. What it does not tell is known here: that push writes below the stack pointer, that
// a nop and a prefetch read nothing, although they name memory.
//
// Loads come before stores, each in the order of the operands.

#ifndef LINKER_REWRITE_X86_MEMORY_OPERANDS_H
#define LINKER_REWRITE_X86_MEMORY_OPERANDS_H

#include <cstdint>
#include <string_view>
#include <vector>

namespace profld {

// An operand in memory.
struct MemoryOperand {
  static constexpr int8_t kNone = -1;
  enum class Segment : uint8_t { none, fs, gs };

  // General registers by their number in instructions, or kNone. The index: a vector register's if is_vector_index.
  int8_t base = kNone, index = kNone;
  int8_t bit_register = kNone;  // bt and its like: the register that says which bit
  Segment segment = Segment::none;
  uint8_t scale = 1;
  uint32_t size = 0;         // bytes of an access
  int64_t displacement = 0;  // for an operand relative to the instruction: from its first byte
  bool is_relative = false;  // to the instruction pointer
  bool is_short = false;     // the address has 32 bits
  bool is_byte_index = false;
  bool is_write = false;

  // Elements that a vector of indices, a mask or both choose.
  enum class Mask : uint8_t { none, vector, register_ };
  Mask mask = Mask::none;
  uint8_t mask_number = 0;    // of the vector or mask register whose elements choose
  uint8_t element = 0;        // bytes
  uint8_t elements = 1;       // how many
  uint8_t index_element = 0;  // bytes of an element of the vector of indices
  bool is_vector_index = false;
  bool is_packed = false;  // the chosen elements stand side by side in memory (vpcompress, vpexpand)
  bool is_one = false;     // each element is the same one in memory, which is read if any is chosen (a broadcast)
};

// What can be known of an instruction without registers.
struct DecodedInstruction {
  uint8_t length = 0;  // bytes; 0: no instruction
  bool is_repeated = false;
  bool ends_early = false;      // repeated as long as a comparison holds, too
  bool is_system_call = false;  // syscall: what the kernel does with memory is told apart
  bool needs_vectors = false;
  bool holds_off_trap = false;   // loads the stack segment: the next instruction runs with it, in one step
  bool needs_registers = false;  // other registers than the instruction, stack and base pointers
  enum class Direction : uint8_t { as_before, up, down, unknown };
  Direction direction = Direction::as_before;  // what it makes of that of string instructions
  std::vector<MemoryOperand> operands;         // loads first
};

DecodedInstruction decode_memory(std::string_view code);

}  // namespace profld

#endif
