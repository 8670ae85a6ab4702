// The registers that addresses are computed from, in the order in which GDB numbers them; and the vector registers, for
// the few instructions whose addresses or masks stand in them.

#ifndef PROF_INSTRUCTIONS_REMOTE_REGISTERS_H
#define PROF_INSTRUCTIONS_REMOTE_REGISTERS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace prof::remote {

enum RegisterNumber : uint8_t {
  reg_rax,
  reg_rbx,
  reg_rcx,
  reg_rdx,
  reg_rsi,
  reg_rdi,
  reg_rbp,
  reg_rsp,
  reg_r8,
  reg_r15 = reg_r8 + 7,
  reg_rip,
  reg_flags,
  reg_fs_base,
  reg_gs_base
};
constexpr size_t kRegisters = reg_gs_base + 1;

constexpr uint64_t kDirectionFlag = 0x400;  // of the flags: string instructions go down

using Registers = std::array<uint64_t, kRegisters>;

// The low 64 bytes of each vector register, and the eight mask registers of AVX-512. What a processor does not have is
// 0.
struct VectorRegisters {
  std::array<std::array<uint8_t, 64>, 32> vectors = {};
  std::array<uint64_t, 8> masks = {};
};

// What a thread is about to do.
struct ThreadState {
  Registers registers = {};
  std::string code;  // at the instruction pointer: up to kLongestInstruction bytes, as many as there are
};
constexpr size_t kLongestInstruction = 15;

}  // namespace prof::remote

#endif
