// All that the rewriter itself knows of the bytes of x86-64 instructions: those of the few instructions that it writes,
// and how to recognize some others.
//
// Most questions about an instruction are for the decoder (Zydis): where it ends and where control goes next
// (decode.h), what it does to registers and memory (semantics.h). The questions here can be answered from two or three
// bytes. They are asked about every instruction of a program, or about bytes that may not be instructions at all.
//
// This room is the seam for another architecture. The other rooms know instructions as Flow and Semantics, and by the
// names below: they contain no byte of an instruction (tests/e2e/project/rooms.sh checks that). Another architecture
// has to say
//
//   * how long its jumps are and how far they reach, which decides where entry jumps find room (move/entry_jumps.cc)
//     and how long a copy becomes (move/plan.cc);
//   * what may have to stay first at a function's entry, as ENDBR64 does here;
//   * where in an instruction an address or a number stands, and how to write another one there (move/emit.cc);
//   * how compilers write things that no table tells about: jumps through tables, checks of the stack's limit, return
//     addresses that are changed.
//
// The runtime's hooks (libprof/hooks/hooks.S) are the other half of what depends on the processor.

#ifndef LINKER_REWRITE_X86_ENCODING_H
#define LINKER_REWRITE_X86_ENCODING_H

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "linker-rewrite/base/address.h"
#include "linker-rewrite/base/bytes.h"
#include "linker-rewrite/base/refusal.h"

namespace profld {

// Lengths, in bytes.
inline constexpr uint32_t kJumpLength = 5;           // jmp with a displacement of 32 bits
inline constexpr uint32_t kJumpIfLength = 6;         // jcc with one of 32 bits
inline constexpr uint32_t kShortJumpLength = 2;      // jmp and jcc with one of 8 bits
inline constexpr uint32_t kCallLength = 5;           // call with a displacement of 32 bits
inline constexpr uint32_t kCallThroughLength = 6;    // call *pointer(%rip)
inline constexpr uint32_t kJumpThroughLength = 6;    // jmp *pointer(%rip)
inline constexpr uint32_t kReturnLength = 1;         // ret
inline constexpr uint32_t kLeaLength = 7;            // lea address(%rip), %rax
inline constexpr uint32_t kMoveNumberLength = 5;     // mov $number, %ecx
inline constexpr uint32_t kCountLength = 7;          // incq counter(%rip)
inline constexpr uint32_t kCountOfThreadLength = 8;  // incq %gs:counter(%rip)
inline constexpr uint32_t kLockLength = 1;           // before these
inline constexpr uint32_t kRoomForPrefixes = 3;      // the same
inline constexpr uint32_t kEndbr64Length = 4;        // without prefixes, which it never has
inline constexpr uint32_t kMaxInstructionLength = 15;

// Fills the room between functions: int3, so that a program which runs into it stops.
inline constexpr uint8_t kFillByte = 0xcc;

// Functions, hand-written ones too, start at multiples of this.
inline constexpr uint64_t kCodeAlignment = 16;

// How far a displacement of 8 bits reaches, counted from the end of the instruction.
inline constexpr int64_t kShortReachBack = 128, kShortReachForward = 127;
constexpr bool reaches_short(int64_t distance) {
  return -kShortReachBack <= distance && distance <= kShortReachForward;
}

// Of a conditional jump: the low four bits of its opcode. Those that the analysis of jumps asks for have names.
enum class Condition : uint8_t {
  below = 0x2,
  below_or_equal = 0x6,
  above = 0x7,
  less = 0xc,
  less_or_equal = 0xe,
  greater = 0xf,
};

constexpr Condition condition_of(uint8_t opcode) { return Condition(opcode & 0x0f); }
constexpr Condition negated(Condition c) { return Condition(uint8_t(c) ^ 1); }
// False for comparisons of unsigned numbers and for those of equality.
constexpr bool is_signed(Condition c) { return uint8_t(c) >= 8; }

// The displacement to `target` in an instruction that ends at `end`. Throws Error if 32 bits do not hold it.
inline int32_t displacement(NewAddr end, NewAddr target) {
  const int64_t d = int64_t(target.value - end.value);
  if (d != int32_t(d)) throw refusal(Refusal::data_too_far);
  return int32_t(d);
}

// Opcodes of one byte, and other bytes of instructions.
namespace opcode {
inline constexpr uint8_t kAdd = 0x01, kSubtract = 0x29, kCompareWith = 0x39, kCompare = 0x3b, kPushNumber = 0x68,
                         kWithNumber32 = 0x81, kWithNumber8 = 0x83, kExchange = 0x87, kStore = 0x89, kLoad = 0x8b,
                         kLea = 0x8d, kMoveNumber = 0xc7, kCall = 0xe8, kIncrement = 0xff, kJumpThrough = 0xff,
                         kCallThrough = 0xff, kCallThroughRipRelative = 0x15;  // the last: its ModRM byte
inline constexpr uint8_t kMoveNumberToRegister = 0xb8;  // of the first register; the seven after it: of the others
inline constexpr uint8_t kOfThread = 0x64, kOperandSize = 0x66, kBnd = 0xf2;  // prefixes

constexpr bool is_legacy_prefix(uint8_t byte) {
  return byte == kOperandSize || byte == 0x67 || (byte & 0xfe) == 0xf2 || byte == 0xf0 || (byte & 0xe7) == 0x26 ||
         (byte & 0xfe) == kOfThread;
}
constexpr bool is_rex(uint8_t byte) { return (byte & 0xf0) == 0x40; }
constexpr bool is_rex_w(uint8_t byte) { return (byte & 0xf8) == 0x48; }  // operands are words of 8 bytes
// The SIB byte gives the address of the operand in memory, without a displacement after it.
constexpr bool has_sib(uint8_t modrm) { return (modrm & 0xc7) == 0x04; }
constexpr bool is_rip_relative(uint8_t modrm) { return (modrm & 0xc7) == 0x05; }
constexpr bool has_no_base(uint8_t sib) { return (sib & 0x07) == 0x05; }
}  // namespace opcode

// RSEQ_SIG of x86-64 (rseq(2)).
inline constexpr uint64_t kRseqSignatureSize = 4;
inline bool is_rseq_signature(ByteView bytes) {
  constexpr uint8_t kSignature[kRseqSignatureSize] = {0x53, 0x30, 0x05, 0x53};
  return bytes.size() >= sizeof kSignature && std::equal(kSignature, kSignature + sizeof kSignature, bytes.begin());
}

// Writes a number into a field of 32 bits.
inline void write_field(uint8_t* field, int32_t number) { std::memcpy(field, &number, sizeof number); }

inline constexpr uint8_t kEndbr64[kEndbr64Length] = {0xf3, 0x0f, 0x1e, 0xfa};
inline constexpr uint8_t kNopForJump[kJumpLength] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

// Writes instructions, one after the other.
class InstructionWriter {
 public:
  // Writes to `out`, which has room for all of them; their address will be `at`.
  InstructionWriter(uint8_t* out, NewAddr at) : begin_(out), out_(out), at_(at) {}

  uint8_t* out() const { return out_; }                      // where the next byte will be written
  uint64_t size() const { return uint64_t(out_ - begin_); }  // of what is written
  NewAddr here() const { return at_ + size(); }              // where the next instruction will stand

  void copy(ByteView bytes) { out_ = std::copy(bytes.begin(), bytes.end(), out_); }

  void jump(NewAddr target) {
    byte(0xe9);
    displacement32(target);
  }
  void jump_if(Condition c, NewAddr target) {
    byte(0x0f);
    byte(uint8_t(0x80 | uint8_t(c)));
    displacement32(target);
  }
  void call(NewAddr target) {
    byte(opcode::kCall);
    displacement32(target);
  }
  void return_to_caller() { byte(0xc3); }
  void call_through(NewAddr pointer) {  // call *pointer(%rip)
    byte(opcode::kCallThrough);
    byte(opcode::kCallThroughRipRelative);
    displacement32(pointer);
  }

  void lock() { byte(0xf0); }  // a prefix
  void room_for_prefixes() {   // prefixes that mean nothing before an instruction of 64 bits
    for (uint32_t i = 0; i < kRoomForPrefixes; ++i) byte(opcode::kOperandSize);
  }
  void count_of_thread(NewAddr counter) {  // incq %gs:counter(%rip)
    byte(0x65);
    count(counter);
  }
  void count(NewAddr counter) {  // incq counter(%rip)
    byte(0x48);
    byte(opcode::kIncrement);
    byte(0x05);
    displacement32(counter);
  }
  void endbr64() { copy(kEndbr64); }
  void nop_for_jump() { copy(kNopForJump); }  // as long as a jump
  void nops(uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) byte(0x90);
  }
  void prefix_without_meaning() { byte(0x48); }  // before a call or a jump: their operands have 64 bits in any case
  void load_address_into_rax(NewAddr address) {  // lea address(%rip), %rax
    byte(0x48);
    byte(opcode::kLea);
    byte(0x05);
    displacement32(address);
  }
  void move_into_ecx(uint32_t number) {
    byte(opcode::kMoveNumberToRegister + 1);
    write_field(out_, int32_t(number));
    out_ += 4;
  }

  void jump_through(NewAddr pointer) {  // jmp *pointer(%rip)
    byte(opcode::kJumpThrough);
    byte(0x25);
    displacement32(pointer);
  }

  // Short jumps over the `size` bytes that follow, at most kShortReachForward.
  void jump_over(uint32_t size) {
    byte(0xeb);
    byte(uint8_t(size));
  }
  void jump_over_if(Condition c, uint32_t size) {
    byte(uint8_t(0x70 | uint8_t(c)));
    byte(uint8_t(size));
  }
  // `head`: another short branch (loop, jrcxz), without its displacement.
  void branch_over(ByteView head, uint32_t size) {
    copy(head);
    byte(uint8_t(size));
  }

 private:
  void byte(uint8_t b) { *out_++ = b; }
  void displacement32(NewAddr target) {
    write_field(out_, displacement(here() + 4, target));
    out_ += 4;
  }

  uint8_t* const begin_;
  uint8_t* out_;
  const NewAddr at_;
};

// A jump that stands at `at`: of kJumpLength bytes, and of kShortJumpLength, which must reach.
Bytes jump_bytes(NewAddr at, NewAddr target);
Bytes short_jump_bytes(OldAddr at, OldAddr target);
// A jump to where the word `pointer` leads, of kJumpThroughLength bytes.
Bytes jump_through_bytes(NewAddr at, NewAddr pointer);

// The functions below look at one instruction, `insn`, which must be its bytes and no more. Those that are called for
// every instruction of a program have their bodies here.

// The last number in it: its immediate, or its displacement if it has no immediate. If it has neither, the result is
// other bytes. `after`: how many bytes of the instruction follow the number. Nullopt if it is too short.
template <class Number>
std::optional<Number> last_number(ByteView insn, size_t after = 0) {
  if (insn.size() <= sizeof(Number) + after) return std::nullopt;
  Number n;
  std::memcpy(&n, insn.data() + insn.size() - sizeof n - after, sizeof n);
  return n;
}

// The number in `mov $number, ...`, `movabs $number, ...`, `push $number` or `lea number, ...`; of other instructions
// perhaps other bytes.
inline std::optional<uint64_t> number_kept_by(ByteView insn) {
  using namespace opcode;
  const std::optional<uint32_t> number = last_number<uint32_t>(insn);
  if (!number) return std::nullopt;
  size_t at = 0;
  while (at + 1 + sizeof *number < insn.size() && (insn[at] == kOperandSize || is_rex(insn[at]))) ++at;
  const uint8_t o = insn[at];
  if ((o & 0xf8) == kMoveNumberToRegister && insn.size() == at + 1 + sizeof(uint64_t))
    return last_number<uint64_t>(insn);
  const bool keeps = o == kMoveNumber || (o & 0xf8) == kMoveNumberToRegister || o == kPushNumber ||
                     (o == kLea && !is_rip_relative(insn[at + 1]));
  return keeps ? std::optional<uint64_t>(*number) : std::nullopt;
}

// The number in `mov $number, %eax`; in `mov $number, %al`.
std::optional<int32_t> number_moved_to_eax(ByteView insn);
inline std::optional<uint8_t> number_moved_to_al(ByteView insn) {
  if (insn.size() != 2 || insn[0] != 0xb0) return std::nullopt;
  return insn[1];
}

inline bool is_system_call(ByteView insn) { return insn.size() == 2 && insn[0] == 0x0f && insn[1] == 0x05; }

// For bytes of which nothing says where their instructions start. Whether two of them may be syscall, sysenter or
// int $0x80; or, after 0f, the end of wrfsbase.
inline bool may_enter_kernel(uint8_t first, uint8_t second) {
  return (first == 0x0f && (second == 0x05 || second == 0x34)) || (first == 0xcd && second == 0x80);
}
inline bool may_end_wrfsbase(uint8_t first, uint8_t second) { return first == 0xae && (second & 0xf8) == 0xd0; }

// The displacement that stands at `field` is that of a lea.
inline bool is_lea(ByteView insn, size_t field) { return field >= 2 && insn[field - 2] == opcode::kLea; }

// Adds a number or a register to a word, or subtracts one: inc, dec, add, sub.
bool adds_to_word(ByteView insn);

// Writes to the word that the stack pointer points to (mov, xchg, add, sub and their like).
bool writes_top_of_stack(ByteView insn);

// Compares a register with the word of the thread in which gcc -fsplit-stack keeps the limit of the stack.
inline bool compares_with_stack_limit(ByteView insn) {
  using namespace opcode;
  constexpr uint8_t kAbsolute = 0x25;  // a SIB byte: an address and nothing else
  constexpr uint32_t kLimit = 0x70;    // %fs:0x70, which glibc leaves for it
  return insn.size() == 9 && insn[0] == kOfThread && insn[2] == kCompare && has_sib(insn[3]) && insn[4] == kAbsolute &&
         last_number<uint32_t>(insn) == kLimit;
}

// The address in jmp *address(,%index,8), of an indirect jump, and in mov address(,%index,8), %register, of an
// instruction that is no jump.
std::optional<uint32_t> address_of_indexed_jump(ByteView insn);
inline std::optional<uint32_t> address_of_indexed_load(ByteView insn) {
  using namespace opcode;
  if (insn.size() != 8 || !is_rex_w(insn[0]) || insn[1] != kLoad || !has_sib(insn[2]) || !has_no_base(insn[3]))
    return std::nullopt;
  return last_number<uint32_t>(insn);
}

// The displacement of the call that the code ends with, direct or through a word that is addressed relative to it;
// nullopt if it ends with none. Nothing but the last bytes is looked at.
inline std::optional<int32_t> displacement_of_last_call(ByteView code) {
  using namespace opcode;
  if (code.size() < kCallThroughLength) return std::nullopt;
  const ByteView last = code.last(kCallThroughLength);
  const bool is_direct = last[kCallThroughLength - kCallLength] == kCall;
  if (!is_direct && (last[0] != kCallThrough || last[1] != kCallThroughRipRelative)) return std::nullopt;
  return last_number<int32_t>(last);
}

// The functions below look at the instructions that `code` starts with; `code` may end anywhere after them.

bool starts_with_endbr64(ByteView code);

inline bool is_short_jump_over(ByteView code, uint8_t bytes) {
  return code.size() >= kShortJumpLength && code[0] == 0xeb && code[1] == bytes;
}

// Code that takes the place of a call `function(start, end, how, 0)`, and makes the same call for further ranges after
// it.

// A range that is known when the program runs: the two words before `anchor` hold the distances from it to the start
// and to the end of the range.
struct AnchoredRange {
  NewAddr anchor{};
  bool in_word = false;  // `anchor` is the address of a word that holds the anchor's
};

// Bytes of the code for so many ranges.
uint64_t size_of_range_calls(size_t ranges);

// Writes the code. It keeps what a called function has to keep, and returns what the last call returns.
void write_range_calls(InstructionWriter& writer, NewAddr function, const std::vector<NewRange>& ranges,
                       AnchoredRange last);

}  // namespace profld

#endif
