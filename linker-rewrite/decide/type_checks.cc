// Compilers can check the type of a function that is called through a pointer. The caller compares it with a number, or
// with data, that belongs to the function:
//
//   * In front of the entry (clang -fsanitize=kcfi): the number is read at a small negative distance from the pointer,
//     and a few instructions later the call goes through the same register.
//         mov $-number,%r10d; add -4(%rax),%r10d; je 1f; ud2; 1: call *%rax
//     Or the call is farther away (clang -fsanitize=function since clang 17): then the number that it is compared with
//     is one that stands there in front of functions of this program. It does not look like padding, which a jump may
//     be written over.
//         cmpl $0xc105cafe,-8(%rax); jne 1f; cmpl $0xca7a7a6f,-4(%rax); jne ...; 1: ... call *%rax
//   * At the entry, which jumps over it (clang -fsanitize=function before): the first four bytes are compared with that
//     jump and what follows it; if they agree, the distance after them leads to the data. See length_of_type_data.
//         cmpl $0x327606eb,(%rbx); jne 1f; movslq 4(%rbx),%rax; mov (%rax,%rbx,1),%rdx; cmp ...; 1: call *%rbx
//
// Pointers keep their old values, so all this is read at the old entries. It has to stay as it is there, which is seen
// to where the jumps to the copies are placed (move/entry_jumps.cc). It is no reason to leave a function in place.

#include <algorithm>
#include <optional>

#include "code_dependences.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/discover/body.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

namespace {

using Type = Operand::Type;

constexpr int64_t kFarthest = 32;      // bytes in front of an entry
constexpr uint32_t kInstructions = 8;  // between the parts of a check, at most

bool reads_memory(const Semantics& op) { return op.memory_size != 0 && op.action != Action::lea && !op.memory_written; }

bool is_before_pointer(const Memory& m) {
  return m.understood && m.base < kRegisters && m.base != kRsp && m.index == kNoRegister && m.displacement < 0 &&
         m.displacement >= -kFarthest;
}

bool is_indirect(const Insn& insn) { return insn.flow == Flow::call_indirect || insn.flow == Flow::jump_indirect; }

// The instruction that reads in front of the function that the instruction `call` calls, or jumps to, through a
// register.
std::optional<uint32_t> read_before_entry(const Code& code, uint32_t call) {
  bool is_checked = false;
  uint32_t first = call;
  for (; first > 0 && call - first < kInstructions; --first) {
    const Flow before = code.insns[first - 1].flow;
    if (before == Flow::jump_if) is_checked = true;
    if (before != Flow::next && before != Flow::jump_if && before != Flow::stop) break;
  }
  if (!is_checked) return std::nullopt;
  const Semantics to = semantics_of(code, code.insns[call]);
  if (to.from.type != Type::reg) return std::nullopt;
  is_checked = false;
  for (uint32_t i = call; i-- > first;) {
    if (code.insns[i].flow == Flow::jump_if) is_checked = true;
    const Semantics op = semantics_of(code, code.insns[i]);
    if (op.writes >> to.from.reg & 1) break;
    if (is_checked && reads_memory(op) && op.memory.base == to.from.reg && is_before_pointer(op.memory)) return i;
  }
  return std::nullopt;
}

// Compares the number in front of what a pointer leads to with one that stands there in front of functions.
bool compares_with_number_before_entry(const Program& program, const Code& code, const Insn& insn) {
  constexpr uint32_t kSmall = 1 << 24;  // a number below is a count, perhaps, or its negative
  constexpr uint8_t kShortest = 7;      // bytes of such an instruction
  if (insn.flow != Flow::next || insn.field_size != 0 || insn.length < kShortest) return false;
  const uint32_t number = last_number<uint32_t>(code.bytes_of(insn)).value_or(0);
  if (number + kSmall < 2 * kSmall) return false;
  const Semantics op = semantics_of(code, insn);
  if (op.action != Action::compare || op.immediate_field == 0 || op.memory_size != sizeof number ||
      !is_before_pointer(op.memory))
    return false;
  return std::ranges::any_of(program.ranges, [&](const CodeRange& r) {
    const OldAddr at = r.range.start - uint64_t(-op.memory.displacement);
    const auto bytes = program.image->bytes(at, sizeof number);
    return bytes && Reader(*bytes, "code").u32() == number && !is_padding(*program.image, {at, at + 1});
  });
}

// Compares a word with the jump over six bytes that stands in front of a function's type data.
bool compares_with_entry(const Code& code, const Insn& insn) {
  constexpr uint8_t kSkipped = 6;
  if (insn.flow != Flow::next || insn.field_size != 0 || insn.length <= sizeof(uint32_t)) return false;
  if (!is_short_jump_over(code.bytes_of(insn).last(sizeof(uint32_t)), kSkipped)) return false;
  return semantics_of(code, insn).action == Action::compare;
}

// Adds what reads memory from `from` on, up to where control may go elsewhere.
void add_reads(const Code& code, uint32_t from, std::vector<uint32_t>& reads) {
  for (uint32_t i = from; i < std::min<size_t>(code.insns.size(), from + kInstructions); ++i) {
    if (code.insns[i].flow != Flow::next) break;
    if (reads_memory(semantics_of(code, code.insns[i]))) reads.push_back(i);
  }
}

// Of a check that begins with that instruction.
void add_reads_of_check(const Code& code, uint32_t compare, std::vector<uint32_t>& reads) {
  const Semantics op = semantics_of(code, code.insns[compare]);
  reads.push_back(compare);
  // The word may have been loaded before.
  for (uint32_t i = compare; op.to.type == Type::reg && i-- > 0 && compare - i <= kInstructions;) {
    if (code.insns[i].flow != Flow::next) break;
    const Semantics before = semantics_of(code, code.insns[i]);
    if (!(before.writes >> op.to.reg & 1)) continue;
    if (reads_memory(before)) reads.push_back(i);
    break;
  }
  for (uint32_t i = compare + 1; i < std::min<size_t>(code.insns.size(), compare + 1 + kInstructions); ++i) {
    if (code.insns[i].flow == Flow::next) continue;
    if (code.insns[i].flow != Flow::jump_if) break;
    add_reads(code, i + 1, reads);
    if (const auto target = code.index(code.target(code.insns[i]))) add_reads(code, uint32_t(*target), reads);
    break;
  }
}

}  // namespace

std::vector<uint32_t> reads_of_type(const Program& program, const Code& code) {
  std::vector<uint32_t> reads;
  for (uint32_t i = 0; i < code.insns.size(); ++i)
    if (const auto read = is_indirect(code.insns[i]) ? read_before_entry(code, i) : std::nullopt)
      reads.push_back(*read);
    else if (compares_with_entry(code, code.insns[i]) ||
             compares_with_number_before_entry(program, code, code.insns[i]))
      add_reads_of_check(code, i, reads);
  std::ranges::sort(reads);
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  return reads;
}

uint64_t bytes_read_before_entries(const Program& program) {
  const std::vector<uint64_t> found =
      parallel_collect<uint64_t>(program.groups.size(), [&](size_t g, std::vector<uint64_t>& out) {
        for (const Code& code : program.groups[g].code.parts)
          for (uint32_t i = 0; i < code.insns.size(); ++i)
            if (!is_indirect(code.insns[i]))
              continue;
            else if (const auto read = read_before_entry(code, i))
              out.push_back(uint64_t(-semantics_of(code, code.insns[*read]).memory.displacement));
      });
  return found.empty() ? 0 : std::ranges::max(found);
}

}  // namespace profld
