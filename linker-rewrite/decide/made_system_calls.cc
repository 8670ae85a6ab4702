#include "made_system_calls.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "linker-rewrite/base/address.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/program/noreturn.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"
#include "linker-rewrite/x86/system_calls.h"

namespace profld {

namespace {

// The numbers that a system call may have, by all ways through its function that lead to it. Compilers keep them in other
// registers where there are several calls, or a loop.
class NumberSearch {
 public:
  NumberSearch(const Program& program, const FunctionCode& code)
      : code_(code), noreturn_(*program.image, *program.frames) {
    for (uint32_t p = 0; p < code_.parts.size(); ++p) {
      const Code& part = code_.parts[p];
      for (uint32_t i = 0; i < part.insns.size(); ++i) {
        const Insn& insn = part.insns[i];
        if (insn.flow == Flow::jump_indirect) has_unknown_ways_ = true;
        if (is_branch(insn) && insn.field_size != 0) branches_.emplace(part.target(insn), Place{p, i});
      }
    }
  }

  // Whether that of an instruction may be one of `numbers`.
  bool may_be(uint32_t part, uint32_t index, std::span<const int64_t> numbers) {
    if (has_unknown_ways_) return true;
    to_do_ = {{{part, index}, kRax}};
    seen_ = {to_do_.front()};
    while (!to_do_.empty()) {
      const Place place = to_do_.back().first;
      const uint8_t reg = to_do_.back().second;
      to_do_.pop_back();
      bool has_way = false, may_be = place == Place{0, 0};  // the function's entry
      const auto come_from = [&](Place before) {
        has_way = true;
        may_be = may_be || !is_other_after(before, reg, numbers);
      };
      const Code& at = code_.parts[place.first];
      if (place.second > 0 && goes_on(at, at.insns[place.second - 1])) come_from({place.first, place.second - 1});
      const auto [first, last] = branches_.equal_range(at.address(at.insns[place.second]));
      for (auto branch = first; branch != last; ++branch) come_from(branch->second);
      // Without a way that we know there is one that we do not, but for what fills up code before a loop.
      if (may_be || (!has_way && !is_filling(at, place.second))) return true;
    }
    return false;
  }

 private:
  using Place = std::pair<uint32_t, uint32_t>;  // part, index of the instruction

  static bool is_branch(const Insn& insn) {
    return insn.flow == Flow::jump || insn.flow == Flow::jump_if || insn.flow == Flow::jump_if_short;
  }
  bool goes_on(const Code& code, const Insn& insn) {
    const bool is_call = insn.flow == Flow::call || insn.flow == Flow::call_indirect;
    if (is_call) return insn.field_size == 0 || !noreturn_.never_returns(insn, code.target(insn));
    return insn.flow != Flow::jump && insn.flow != Flow::jump_indirect && insn.flow != Flow::ret &&
           insn.flow != Flow::stop;
  }

  static bool is_filling(const Code& code, uint32_t index) {
    const CachedInsn* cached = DecodeCache::of_this_thread().find(code.bytes_of(code.insns[index]));
    return cached && cached->is_no_operation();
  }

  // Whether the register has another number after the instruction, as far as that tells; what was before it is looked at later.
  bool is_other_after(Place place, uint8_t reg, std::span<const int64_t> numbers) {
    constexpr uint16_t kKept = 0xf028;     // by functions: rbx, rbp, r12 to r15
    constexpr uint16_t kChanged = 0x0803;  // by the kernel: rax, rcx, r11
    const Code& code = code_.parts[place.first];
    const Insn& insn = code.insns[place.second];
    const bool is_call = insn.flow == Flow::call || insn.flow == Flow::call_indirect;
    if (is_call && !(kKept >> reg & 1)) return false;
    const Semantics effect = semantics_of(code, insn);
    const uint16_t writes = is_system_call(code.bytes_of(insn)) ? kChanged : effect.writes;
    uint8_t source = reg;
    if (!is_call && writes >> reg & 1) {
      if (effect.to.type != Operand::Type::reg || effect.to.reg != reg || effect.to.size < 4) return false;
      const auto is_other = [&](int64_t n) { return std::ranges::find(numbers, n) == numbers.end(); };
      if (effect.action == Action::zero) return is_other(0);
      if (effect.action != Action::move || effect.sign_extend) return false;
      if (effect.from.type == Operand::Type::immediate) return is_other(int64_t(uint32_t(effect.immediate)));
      if (effect.from.type != Operand::Type::reg || effect.from.size < 4) return false;
      source = effect.from.reg;
    }
    const State state{place, source};
    if (seen_.insert(state).second) to_do_.push_back(state);
    return true;
  }

  using State = std::pair<Place, uint8_t>;  // what a register has before an instruction
  const FunctionCode& code_;
  Noreturn noreturn_;
  bool has_unknown_ways_ = false;
  std::multimap<OldAddr, Place> branches_;  // by where they lead
  std::vector<State> to_do_;
  std::set<State> seen_;
};

bool may_make(const Program& program, const FunctionCode& code, std::span<const int64_t> numbers) {
  std::optional<NumberSearch> search;
  for (uint32_t p = 0; p < code.parts.size(); ++p) {
    const Code& part = code.parts[p];
    if (ends_signal(part.bytes)) continue;
    for (uint32_t i = 0; i < part.insns.size(); ++i) {
      const ByteView bytes = part.bytes_of(part.insns[i]);
      const CachedInsn* cached = DecodeCache::of_this_thread().find(bytes);
      if (!cached || !cached->enters_kernel()) continue;
      if (!is_system_call(bytes)) return true;
      const int64_t number = system_call_number(part, i);
      if (std::ranges::find(numbers, number) != numbers.end()) return true;
      if (number >= 0) continue;
      if (!search) search.emplace(program, code);
      if (search->may_be(p, i, numbers)) return true;
    }
  }
  return false;
}

}  // namespace

bool any_code_outside_functions(const Program& program, bool (*is_wanted)(uint8_t, uint8_t)) {
  std::vector<OldRange> outside;
  for (const OldRange& code : program.image->code()) append_uncovered(outside, code, program.ranges, &CodeRange::range);
  return std::ranges::any_of(outside, [&](const OldRange& range) {
    const auto bytes = program.image->bytes(range.start, range.size());
    return bytes && std::ranges::adjacent_find(*bytes, is_wanted) != bytes->end();
  });
}

bool may_make_system_call(const Program& program, std::span<const int64_t> numbers) {
  std::atomic<bool> found = false;
  parallel_for(program.groups.size(), [&](size_t g) {
    if (!found && may_make(program, program.groups[g].code, numbers)) found = true;
  });
  return found || any_code_outside_functions(program, may_enter_kernel);
}

}  // namespace profld
