// The instructions of one range of code, reduced to what moving them needs: where they start, whether and where they
// refer to something relative to themselves, and how they pass control on. The few places that look at registers (jump
// tables) decode operands again, in full.

#ifndef LINKER_REWRITE_X86_DECODE_H
#define LINKER_REWRITE_X86_DECODE_H

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "linker-rewrite/base/expected.h"
#include "linker-rewrite/base/reason.h"
#include "linker-rewrite/elf/image.h"

namespace profld {

enum class Flow : uint8_t {
  next,  // goes on with the next instruction
  call,  // direct call: `target`
  call_indirect,
  jump,           // direct jump: `target`
  jump_if,        // conditional jump: `target` or next
  jump_if_short,  // loop, loope, loopne, jrcxz: exists with an 8-bit displacement only
  jump_indirect,
  ret,   // any near return
  stop,  // ud2, hlt, int3: control does not go on
};

// There are millions of them: 8 bytes each.
struct Insn {
  uint32_t offset = 0;  // from the start of the range
  uint8_t length = 0;
  Flow flow = Flow::next;
  uint8_t field : 4 = 0;          // offset in the instruction of the displacement (RIP-relative or branch)
  uint8_t prefixes : 4 = 0;       // bytes before the opcode of a branch (bnd, notrack, hints) that must be kept
  uint8_t field_size : 3 = 0;     // bytes of the displacement: 1 or 4; 0: it has none
  bool rip_relative : 1 = false;  // has a RIP-relative memory operand
  // For questions about all instructions of a program, most of which the answer is no to.
  bool has_number : 1 = false;           // an immediate or a displacement of four bytes or eight that is no distance
  bool names_stack_pointer : 1 = false;  // reads or changes rsp, or a part of it, or addresses memory by it
  bool names_frame_pointer : 1 = false;  // the same of rbp
};
static_assert(sizeof(Insn) == 8);

struct Code {
  OldRange range;
  ByteView bytes;
  std::vector<Insn> insns;  // ascending, without gaps, covering the range
  // Where they start, for each 64 bytes of the range: for every branch we ask which instruction its target is in.
  struct Starts {
    uint32_t before = 0;           // how many start before these bytes
    std::array<uint32_t, 2> in{};  // a bit for each byte
    uint64_t bits() const { return uint64_t(in[1]) << 32 | in[0]; }
  };
  std::vector<Starts> starts;  // none if there are no instructions

  OldAddr address(const Insn& insn) const { return range.start + insn.offset; }
  ByteView bytes_of(const Insn& insn) const { return bytes.subspan(insn.offset, insn.length); }
  OldAddr next(const Insn& insn) const { return range.start + insn.offset + insn.length; }
  // Of a direct branch, or the address of a RIP-relative operand.
  OldAddr target(const Insn& insn) const { return next(insn) + uint64_t(displacement(insn)); }
  // Index of the instruction that starts at `a`; nullopt if none does.
  std::optional<size_t> index(OldAddr a) const;
  // Index of the instruction that covers `a`, which must lie in the range.
  size_t covering(OldAddr a) const;
  // True if a jump to `a` makes sense: an instruction starts there, or goes on there after some of its prefixes
  // (hand-written code jumps after a lock prefix where there is only one thread).
  bool is_target(OldAddr a) const;

 private:
  // From the end of the instruction to its target.
  int64_t displacement(const Insn& insn) const {
    const uint8_t* at = bytes.data() + insn.offset + insn.field;
    if (insn.field_size == 1) return int8_t(*at);
    int32_t d = 0;
    if (insn.field_size == 4) std::memcpy(&d, at, sizeof d);
    return d;
  }
};

// clang -fsanitize=function (before clang 17) begins a function with a short jump over data that tells its type: two
// bytes, and in four the distance from the function to a word of data. Code that calls through a pointer reads it
// there. The jump and the data count as one instruction, of so many bytes, that leads to the next one; 0 if there is
// none at `entry`.
uint32_t length_of_type_data(const Image& image, OldAddr entry);

// How many bytes at the entry `entry` of a function must stay as they are, where a jump to its copy is to stand after
// them: type data, or ENDBR64.
uint32_t length_kept_at_entry(const Image& image, OldAddr entry);

// Decodes a range from its first byte to its last, or returns why that is not possible.
Expected<Code, Reason> decode(const Image& image, OldRange range);

// The address that a RIP-relative operand of `insn` names is taken (lea), not read.
bool takes_address(const Code& code, const Insn& insn);

}  // namespace profld

#endif
