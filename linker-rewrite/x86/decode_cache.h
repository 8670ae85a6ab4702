// The decode cache: what the first bytes of an instruction tell about it, which is all but the values of its
// displacement and its immediates. A program has millions of instructions, but they begin in a few ten thousand ways
// only, and the decoder is asked once about each way.

#ifndef LINKER_REWRITE_X86_DECODE_CACHE_H
#define LINKER_REWRITE_X86_DECODE_CACHE_H

#include <Zydis/Zydis.h>

#include <array>
#include <optional>

#include "linker-rewrite/base/reason.h"
#include "semantics.h"

namespace profld {

// Bytes of an instruction that hold a number.
struct NumberField {
  uint8_t offset = 0;  // in the instruction
  uint8_t size = 0;    // bytes: 1, 2, 4 or 8; 0: the instruction has no such field
  bool is_signed = false;

  int64_t read(const uint8_t* insn) const;
};

// What the instructions that begin with the same bytes have in common.
struct CachedInsn {
  Insn insn;                           // offset is not set
  std::optional<ReasonCode> unusable;  // why code with such an instruction cannot be moved; none if it can
  ZydisMnemonic mnemonic{};
  uint8_t prefixes = 0;  // bytes before the opcode
  NumberField displacement, immediate;
  bool is_relative = false;  // the immediate is a distance from the end of the instruction
  FlagEffect flags;
  // False if more than the values of displacement and immediate is missing in `semantics`: then it has to be decoded
  // for each instruction.
  bool has_semantics = false;
  Semantics semantics;

  bool is_no_operation() const;  // what compilers and linkers fill up code with: nops, int3
  bool ends_control() const;     // control does not go on after it
  // A system call, of any of the ways to make one. It may not return (exit), or return twice (fork).
  bool enters_kernel() const;
  bool sets_thread_pointer() const;  // wrfsbase
};

class DecodeCache {
 public:
  // The calling thread's. Threads share no cache: to look an instruction up takes less time than a lock would.
  static DecodeCache& of_this_thread();

  // What is known of the instruction that `code` starts with; null if that is no instruction. Valid until the next
  // call.
  const CachedInsn* find(ByteView code);
  // CachedInsn::insn alone; null also for an instruction that is unusable. Valid until the next call.
  const Insn* find_insn(ByteView code);

 private:
  // By the next byte of the instruction: the node that the following byte leads on from, or an entry (kLeaf and its
  // index), or nothing known (0, which is the root). As small as possible, because each lookup touches many of them.
  using Node = std::array<uint16_t, 256>;
  static constexpr uint16_t kLeaf = 1u << 15;

  // The index of an entry, or kNone.
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t index_of(ByteView code) const;
  const CachedInsn* learn(ByteView code);

  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<CachedInsn> cached_;
  std::vector<Insn> insns_;  // of the same entries; length 0 if unusable
  CachedInsn not_kept_;
};

}  // namespace profld

#endif
