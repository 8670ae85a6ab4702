// Instructions that proftarget runs by itself, instead of having the program stopped after each: which ones they are,
// and what they need.
//
// They are those of general purpose whose every effect is on the general registers, the status flags, memory that they
// name, and the instruction pointer. All others are not plain: what touches other registers, or the kernel, or has a
// prefix lock, or could be told from a step in any way that is not evident. To leave one out costs time, to take one in
// wrongly makes a wrong program; so forms that compilers do not make are left out, too.
//
// What goes through memory or elsewhere is said here in full: addresses, jumps, the stack. What computes is not
// described at all. It is given as bytes that do the same computation, with the memory operand at a place of this
// process's, for the processor to run (NativeCode in plain_code.h): it knows best what becomes of the flags.
//
// This is a decoder of its own, since proftarget has no libraries. Tests compare it with Zydis.

#ifndef PROF_INSTRUCTIONS_TARGET_PLAIN_INSTRUCTION_H
#define PROF_INSTRUCTIONS_TARGET_PLAIN_INSTRUCTION_H

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace prof::target {

// As the processor numbers them.
enum PlainRegister : uint8_t { plain_rax, plain_rcx, plain_rdx, plain_rbx, plain_rsp, plain_rbp, plain_rsi, plain_rdi };
constexpr size_t kPlainRegisters = 16;
constexpr uint8_t kNoRegister = 16;

struct PlainMemory {
  enum class Segment : uint8_t { none, fs, gs };
  uint8_t base = kNoRegister, index = kNoRegister;
  uint8_t shift = 0;         // of the index
  bool is_relative = false;  // to the next instruction
  bool is_short = false;     // the address has 32 bits
  Segment segment = Segment::none;
  int32_t displacement = 0;
};

// Bytes that compute what an instruction does.
struct NativeBytes {
  std::array<uint8_t, 20> bytes = {};
  uint8_t size = 0;
  uint8_t displacement_at = 0;  // of the memory operand, which is relative to the instruction pointer; 0: there is none
};

struct PlainInstruction {
  enum class Kind : uint8_t {
    computes,    // `native` does it
    divides,     // the same, if it will not fail; `is_signed`
    nothing,     // but going on
    address,     // lea
    direction,   // cld; std, if `immediate` is not 0
    jump,        // to `immediate` after the next instruction
    branch,      // the same, if `condition` is so
    call,        // the same, always
    jump_to,     // where the operand says
    call_to,     // the same
    comes_back,  // ret; `immediate` more bytes leave the stack
    push,        // the operand
    pop,
    push_flags,
    pop_flags,
    leave,
    move,  // movs; `is_repeated`: with rep, which is once more, or not at all, as rcx says
    store  // stos; the same
  };
  Kind kind = Kind::nothing;
  uint8_t size = 0;   // bytes
  uint8_t width = 0;  // bytes of the memory operand, and of what is computed
  bool has_memory = false, reads = false, writes = false;
  bool has_immediate = false;  // it is the operand
  bool is_signed = false, is_repeated = false;
  uint8_t reg = kNoRegister;             // the operand, or what the result goes to
  uint8_t condition = 0;                 // as in the opcode
  uint8_t stands_for_rsp = kNoRegister;  // in `native`, which cannot have the stack pointer
  int64_t immediate = 0;
  PlainMemory memory;
  NativeBytes native;
};

// The instruction that begins there. Nothing if it is not plain.
std::optional<PlainInstruction> decode_plain(std::string_view code);

}  // namespace prof::target

#endif
