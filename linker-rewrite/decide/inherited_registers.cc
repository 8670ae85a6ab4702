// A function of the usual calling convention gets its arguments in rdi, rsi, rdx, rcx, r8, r9 and on the stack, and keeps rbx,
// rbp and r12 to r15 for its caller (System V ABI for AMD64, section 3.2.1). It may save these six; what is in them is nothing
// that it could use. Code that uses one of them as an address before it has set it belongs to a system of its own, which
// keeps something there for all of its code: V8 its roots in r13, Haskell's programs their registers in r13 and their stack in rbp.
//
// Such a system often has tables of its own, by which it finds, with a return address, what belongs to a frame: V8's
// collector and exceptions do. It knows nothing of copies. If unwind tables or symbols tell of such a function, they are how its
// authors want it to be seen. One that no table names stays in any case; if it was discovered, it is kept in place here. And
// what it calls directly, or what calls it, stays as well: it may be of the same system and use no such register, as V8's way
// in from C++, JSEntry, which unwind tables do tell of.
//
// Only what runs before the first calls is looked at: behind a call it would have to be known whether that returns.

#include "inherited_registers.h"

#include <algorithm>
#include <map>
#include <vector>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

namespace {

using RegisterSet = uint16_t;  // by the numbers in semantics.h

constexpr RegisterSet bit(uint8_t reg) { return reg < kRegisters ? RegisterSet(1u << reg) : RegisterSet(0); }

constexpr uint64_t kFarthest = 4096;  // bytes of unknown code that are looked at
constexpr size_t kMostInstructions = 256;

bool is_discovered(const CodeRange& r) { return r.fde && r.fde->made && r.names.empty() && !r.fragment; }

// Whether code in the range, entered at its start, uses one of these registers as an address before it has set it.
bool inherits_registers(const Image& image, OldRange range) {
  const auto bytes = image.bytes(range.start, range.size());
  if (!bytes) return false;
  Code code;
  code.range = range;
  code.bytes = *bytes;
  DecodeCache& cache = DecodeCache::of_this_thread();
  std::map<OldAddr, RegisterSet> as_left;  // by the caller, when control is there
  std::vector<OldAddr> to_do;
  const auto reach = [&](OldAddr at, RegisterSet registers) {
    if (!range.contains(at) || as_left.size() > kMostInstructions) return;
    const auto [found, is_new] = as_left.try_emplace(at);
    if (!is_new && (found->second | registers) == found->second) return;
    found->second |= registers;
    to_do.push_back(at);
  };
  reach(range.start, kKeptRegisters);
  while (!to_do.empty()) {
    const OldAddr at = to_do.back();
    to_do.pop_back();
    const uint64_t offset = at - range.start;
    const Insn* const known = cache.find_insn(code.bytes.subspan(offset));
    if (!known || known->length > range.size() - offset) continue;
    Insn insn = *known;
    insn.offset = uint32_t(offset);
    const Semantics op = semantics_of(code, insn);
    const RegisterSet here = as_left[at];
    if (op.action != Action::lea && (here & (bit(op.memory.base) | bit(op.memory.index)))) return true;
    const RegisterSet behind = here & RegisterSet(~op.writes);
    const bool is_conditional = insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short;
    if (insn.flow == Flow::next || is_conditional) reach(code.next(insn), behind);
    if (insn.flow == Flow::jump || is_conditional) reach(code.target(insn), behind);
  }
  return false;
}

// The same of code in no range.
bool unknown_code_inherits(const Program& program, OldAddr start) {
  const ptrdiff_t before = program.range_starts.last_not_above(start);
  OldRange range{start, start + kFarthest};
  if (size_t(before + 1) < program.ranges.size())
    range.end = std::min(range.end, program.ranges[size_t(before + 1)].range.start);
  while (range.size() > 1 && !program.image->bytes(range.start, range.size())) range.end = start + range.size() / 2;
  return inherits_registers(*program.image, range);
}

}  // namespace

void keep_what_inherits_registers(Program& program) {
  std::vector<uint8_t> inherits(program.ranges.size());
  parallel_for(program.ranges.size(), [&](size_t i) {
    const CodeRange& r = program.ranges[i];
    inherits[i] = is_discovered(r) && inherits_registers(*program.image, r.range);
  });

  struct Neighbour {
    size_t range;  // it calls, or is called by, what inherits registers
    OldAddr other;
  };
  const auto neighbours =
      parallel_collect<Neighbour>(program.ranges.size(), [&](size_t i, std::vector<Neighbour>& out) {
        const Code& code = program.code(program.ranges[i]);
        for (const Insn& insn : code.insns) {
          if (insn.flow != Flow::call && insn.flow != Flow::jump && insn.flow != Flow::jump_if) continue;
          const OldAddr target = code.target(insn);
          if (target == OldAddr()) continue;  // of a weak function that is not there; a static PIE has its headers at 0
          const ptrdiff_t to = program.range_of(target);
          if (to < 0 ? unknown_code_inherits(program, target) : inherits[size_t(to)] != 0) out.push_back({i, target});
          if (to >= 0 && inherits[i] && is_discovered(program.ranges[size_t(to)]))
            out.push_back({size_t(to), code.range.start});
        }
      });
  for (size_t i = 0; i < inherits.size(); ++i)
    if (inherits[i]) program.groups[program.ranges[i].group].stay(ReasonCode::inherits_register);
  for (const Neighbour& n : neighbours)
    program.groups[program.ranges[n.range].group].stay({ReasonCode::beside_inheriting, n.other});
}

}  // namespace profld
