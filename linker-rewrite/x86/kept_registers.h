// The registers that functions keep for their callers (System V ABI for AMD64, section 3.2.1).

#ifndef LINKER_REWRITE_X86_KEPT_REGISTERS_H
#define LINKER_REWRITE_X86_KEPT_REGISTERS_H

#include <cstdint>

namespace profld {

// rbx, rbp, r12 to r15: a bit for each, by the numbers in semantics.h. (rsp is left out.)
inline constexpr uint16_t kKeptRegisters = 0b1111'0000'0010'1000;

}  // namespace profld

#endif
