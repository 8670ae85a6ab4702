// Computations that are run by the processor with registers given to it: a place in this process for their code, and for the one
// operand in memory that each may have.
//
// All general registers but the stack pointer have the values of the frame while such a computation runs, and so do the status
// flags; what becomes of them is in the frame after it. The stack stays that of this process, so that signals may come.

#ifndef PROF_INSTRUCTIONS_TARGET_NATIVE_CODE_H
#define PROF_INSTRUCTIONS_TARGET_NATIVE_CODE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "plain_instruction.h"

namespace prof::target {

constexpr uint64_t kStatusFlags = 0x8d5;  // carry, parity, adjust, zero, sign, overflow

struct NativeFrame {
  std::array<uint64_t, kPlainRegisters> registers;  // that of the stack pointer is neither read nor written
  uint64_t flags;                                   // status flags, on the way in; others mean nothing on the way out
};

class NativeCode {
 public:
  NativeCode();
  ~NativeCode();
  NativeCode(const NativeCode&) = delete;
  NativeCode& operator=(const NativeCode&) = delete;

  // Memory that may be written and run could be had: not all systems give it.
  bool is_there() const { return memory_ != nullptr; }
  // The code that runs these; it has to be called with run(). Null if there is no room: clear() makes some.
  const void* add(const NativeBytes& bytes);
  void clear();

  void run(const void* code, NativeFrame& frame) const;
  // The operand in memory.
  uint8_t* operand() const { return memory_; }

 private:
  uint8_t* memory_ = nullptr;
  size_t used_ = 0;
  std::unordered_map<std::string_view, const void*> known_;  // views of memory_
};

}  // namespace prof::target

#endif
