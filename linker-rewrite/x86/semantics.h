// An instruction as the analysis of indirect jumps sees it: what it does to general registers and to memory, in the few
// ways that matter for addresses of tables. Of anything else that it does, only the registers that it reads and writes
// are kept. And what it does to the flags.

#ifndef LINKER_REWRITE_X86_SEMANTICS_H
#define LINKER_REWRITE_X86_SEMANTICS_H

#include <Zydis/Zydis.h>

#include <cstdint>

#include "decode.h"
#include "encoding.h"

namespace profld {

// What an instruction does to the status flags, as far as code that is put before it has to know: an increment (`inc`
// of a word), which changes all of them but the carry, or that of a record (record_code.h), which changes all. It may
// stand wherever those that it changes are dead: before an instruction that overwrites them, or on a path to one on
// which nothing reads them.

// Sets of flags, but for the adjust flag. That one is left undefined by logical instructions, and read by none that
// does not read others, too.
using Flags = uint8_t;
inline constexpr Flags kParity = 1, kZero = 2, kSign = 4, kOverflow = 8, kCarry = 16;
inline constexpr Flags kFlagsOfIncrement = kParity | kZero | kSign | kOverflow;  // that it changes
inline constexpr Flags kAllFlags = kFlagsOfIncrement | kCarry;

struct FlagEffect {
  Flags reads = 0;
  Flags overwrites = 0;           // whatever its operands are
  Flags overwrites_if_shift = 0;  // if its immediate is the count of a shift, and not 0

  // The flags that are live in front of it if those are that are live after.
  Flags live_before(Flags after) const { return Flags((after & ~overwrites) | reads); }

  // Doing it once more changes nothing, if its registers have not changed: it compares registers or numbers, and does
  // nothing else.
  bool is_comparison : 1 = false;
  bool uses_gs : 1 = false;  // the segment by which threads find their counters (libprof/file/block_counters.cc)
};

// Of an instruction with `operands`, or of one whose operands could not be decoded: then null.
FlagEffect flag_effect_of(const ZydisDecodedInstruction& in, const ZydisDecodedOperand* operands);

// General registers by their number in instructions: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8 8, ...
inline constexpr uint8_t kRegisters = 16, kRax = 0, kRsp = 4, kRbp = 5, kR11 = 11, kNoRegister = 0xff;

// The registers that functions keep for their callers (System V ABI for AMD64, section 3.2.1): rbx, rbp, r12 to r15, a
// bit for each by its number. (rsp is left out.)
inline constexpr uint16_t kKeptRegisters = 0b1111'0000'0010'1000;

enum class Action : uint8_t {
  other,     // see reads, writes, memory_written
  move,      // to = from, sign- or zero-extended from from.size bytes
  lea,       // to = the address of `memory`
  add,       // to += from
  subtract,  // to -= from
  mask,      // to &= from, an immediate
  shift,     // to <<= from, an immediate
  zero,      // to = 0 (xor r,r)
  forget,    // to = something that does not depend on it (sbb r,r; or $-1,r)
  demangle,  // to ^= %fs:... (glibc keeps pointers to functions so)
  push,      // from
  pop,       // to
  leave,     // rsp = rbp; pop rbp
  call,
  compare,   // flags of to - from
  move_if,   // to = from, or not
  exchange,  // of two registers
};

struct Operand {
  enum class Type : uint8_t { none, reg, memory, immediate };
  Type type = Type::none;
  uint8_t reg = kNoRegister;
  uint8_t size = 0;  // bytes
  bool operator==(const Operand&) const = default;
};

struct Memory {
  uint8_t base = kNoRegister, index = kNoRegister, scale = 0;
  bool rip_relative = false;
  bool thread_local_word = false;  // %fs:displacement
  bool understood = true;          // false: segment fs or gs, 32-bit address, vector index
  uint8_t field = 0;               // offset in the instruction of a 32-bit displacement; 0 if it has none
  int64_t displacement = 0;        // rip_relative: the address itself
  bool operator==(const Memory&) const = default;
};

struct Semantics {
  Action action = Action::other;
  bool sign_extend = false;
  bool memory_written = false;
  bool writes_flags = false;
  uint8_t memory_size = 0;      // bytes that are read or written at `memory`; 0: none, or not known
  uint8_t immediate_field = 0;  // offset in the instruction of an immediate of 4 or 8 bytes; 0 if it has none
  Operand to, from;
  uint16_t reads = 0, writes = 0;  // sets of general registers, all of the instruction's, addresses not included
  uint16_t addressing = 0;         // those that hold addresses though no operand says so: string instructions
  Condition condition{};           // of jump_if
  Memory memory;
  int64_t immediate = 0;
  bool operator==(const Semantics&) const = default;

  // What writes to memory and no flags only stores there, mostly.
  bool only_writes_memory() const { return memory_written && (action == Action::move || !writes_flags); }
};

struct CachedInsn;

// What an instruction of `code` does. What is not understood is Action::other with all registers written.
Semantics semantics_of(const Code& code, const Insn& insn);
// The same, where it is known already what instructions like it have in common.
Semantics semantics_of(const Code& code, const Insn& insn, const CachedInsn& cached);

// The same by decoding it anew, instead of by what is known of instructions like it (decode_cache.h).
Semantics decoded_semantics_of(const Code& code, const Insn& insn);

// The same from the decoder's result; exact except for the effects of an immediate's value, and for the address of a
// RIP-relative operand.
Semantics semantics_of(const ZydisDecodedInstruction& in, const ZydisDecodedOperand* operands, Flow flow);

}  // namespace profld

#endif
