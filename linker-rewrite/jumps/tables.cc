// An indirect jump inside a function goes through a table that the compiler made for a switch, or to a label whose
// address the program keeps in data (computed goto), or it leaves the function for good. The jump itself does not tell
// which of these it is; the code that computed its target does. There are three ways to find out:
//
//   * Patterns of instructions before the jump: quick, and wrong as soon as a compiler moves a step out of a loop or
//     keeps it on the stack.
//   * Slicing backwards from the jump: finds the steps wherever they are, but must decide at every join of paths.
//   * Interpreting the function forwards with abstract values (abstract_state.h), until nothing new is learnt.
//
// The last is what is done here (jump_analysis.cc), for the few functions that have indirect jumps.
//
// A table found is believed only if its entries make sense (table_entries.cc) and its address has no other use: the
// copy of the function gets a table of its own, so code that reads the address for another reason would read the wrong
// data.
//
// Paths that control never takes spoil what is known: those after calls that do not return (noreturn.h), or
// that keep no register. So there are several attempts, each of which believes a little more than the one before it.

#include "tables.h"

#include <algorithm>
#include <memory>

#include "jump_analysis.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"

namespace profld {

// Finds uses of `ret` that are no returns: code that puts an address of its own where `ret` reads it. Only the
// instructions right before a `ret` matter, because compilers' own code restores the stack pointer there.

namespace {

constexpr uint16_t kRspSet = 1u << kRsp;

bool returns_elsewhere(const Code& code, size_t ret) {
  constexpr size_t kWindow = 12;
  for (size_t back = 1; back <= kWindow && back <= ret; ++back) {
    const Insn& insn = code.insns[ret - back];
    if (insn.flow == Flow::jump_if) continue;  // not taken
    if (insn.flow != Flow::next) return false;
    if (writes_top_of_stack(code.bytes_of(insn))) return true;
    const Semantics op = semantics_of(code, insn);
    if (op.action == Action::push) return true;
    if (op.writes & kRspSet) return false;
  }
  return false;
}

}  // namespace

bool return_address_is_changed(const FunctionCode& function) {
  for (const Code& code : function.parts)
    for (size_t i = 0; i < code.insns.size(); ++i) {
      const Insn& insn = code.insns[i];
      if (insn.flow == Flow::call && code.target(insn) == code.next(insn) && code.next(insn) != code.range.end)
        return true;
      if (insn.flow == Flow::ret && returns_elsewhere(code, i)) return true;
    }
  return false;
}

// Appends the RIP-relative instructions that take the address of a label, in this function or in another. Returns a
// reason if one takes the address of something between instructions.
static std::optional<Reason> find_label_instructions(const EhFrame& frames, const PartsByAddress& parts,
                                                     std::vector<LabelUse>& uses, std::vector<LabelUse>& foreign_uses) {
  const FunctionCode& function = parts.function();
  for (uint32_t p = 0; p < function.parts.size(); ++p) {
    const Code& part = function.parts[p];
    for (uint32_t i = 0; i < part.insns.size(); ++i) {
      const Insn& insn = part.insns[i];
      if (!insn.rip_relative || !takes_address(part, insn)) continue;
      const OldAddr a = part.target(insn);
      if (is_label(frames, parts, a)) {
        uses.push_back({{{p, i}, insn.field, true}, a});
      } else if (parts.number(a) && !parts.has_instruction_at(a)) {
        return Reason(ReasonCode::address_between_instructions, part.address(insn));
      } else if (const Fde* fde = frames.find(a); fde && fde->range.start != a && a != function.entry) {
        foreign_uses.push_back({{{p, i}, insn.field, true}, a});
      }
    }
  }
  return std::nullopt;
}

// Whether the function calls what seems never to return, and is not known not to.
static bool has_last_calls(const Instructions& code, Noreturn& known, Noreturn& likely) {
  for (uint32_t i = 0; i < code.count(); ++i) {
    const Insn& insn = code.insn(i);
    if (insn.flow != Flow::call && insn.flow != Flow::call_indirect) continue;
    if (likely.never_returns(insn, code.target(i)) && !known.never_returns(insn, code.target(i))) return true;
  }
  return false;
}

// Interprets the function, and once more if control was followed where it cannot go.
static std::unique_ptr<JumpAnalysis> interpret(const Image& image, const EhFrame& frames, const DataReferences& data,
                                               const Instructions& code, const Assumptions& assumptions,
                                               bool parts_may_be_entries) {
  auto first = std::make_unique<JumpAnalysis>(image, frames, data, code, assumptions);
  first->run(parts_may_be_entries);
  if (!first->followed_too_many()) return first;
  auto again = std::make_unique<JumpAnalysis>(image, frames, data, code, assumptions, first->indexes());
  again->run(parts_may_be_entries);
  return again->confirms_indexes() ? std::move(again) : std::move(first);
}

// Resolves the indirect jumps of a function that has some, with the fewest assumptions that suffice.
static Expected<IndirectJumps, Unresolved> analyze_jumps(const Image& image, const EhFrame& frames,
                                                         const LastCalls& last_calls, const DataReferences& data,
                                                         const PartsByAddress& parts, bool may_lack_parts) {
  const Instructions code(parts);
  Noreturn known(image, frames), likely(image, frames, &last_calls);
  // From the cautious and cheap to what assumes more and costs more.
  const Assumptions attempts[] = {
      {nullptr, nullptr, false, JoinPolicy::sound},     {&known, nullptr, false, JoinPolicy::sound},
      {&known, nullptr, true, JoinPolicy::sound},       {&known, nullptr, false, JoinPolicy::optimistic},
      {&known, nullptr, true, JoinPolicy::optimistic},  {&known, &likely, false, JoinPolicy::sound},
      {&known, &likely, false, JoinPolicy::optimistic}, {&known, &likely, true, JoinPolicy::optimistic},
  };
  std::vector<uint8_t> uses;
  Unresolved last{ReasonCode::jump_not_understood};
  for (const Assumptions& a : attempts) {
    if (a.likely && !has_last_calls(code, known, likely)) break;
    const std::unique_ptr<JumpAnalysis> interpreted = interpret(image, frames, data, code, a, !may_lack_parts);
    JumpAnalysis& analysis = *interpreted;
    if (a.policy == JoinPolicy::sound && analysis.reads_own_code())
      return Unresolved{ReasonCode::reads_own_code, last.outside, last.elsewhere};
    // Only sound attempts tell how constants are used: an optimistic one lets them arrive at places where they are not
    // used.
    if (a.policy == JoinPolicy::sound && !a.likely) uses = analysis.uses();
    auto result = analysis.result(uses);
    if (result && a.likely && analysis.takes_address_of_other_table(*result)) break;
    if (result) return result;
    if (a.likely) continue;
    // If an attempt found out something about a table, try that even when the next attempt fails for another reason.
    Unresolved before = std::exchange(last, {result.error().reason, result.error().outside});
    analysis.tell_what_is_outside(a.policy == JoinPolicy::sound, last);
    if (last.outside == OldAddr()) last.outside = before.outside;
    if (last.elsewhere.empty()) last.elsewhere = std::move(before.elsewhere);
    if (last.perhaps.empty()) last.perhaps = std::move(before.perhaps);
    if (!before.understood.empty()) last.understood = std::move(before.understood);
    if (may_lack_parts && !last.elsewhere.empty()) break;
  }
  return last;
}

Expected<IndirectJumps, Unresolved> resolve_indirect_jumps(const Image& image, const EhFrame& frames,
                                                           const LastCalls& last_calls, const DataReferences& data,
                                                           const FunctionCode& function, bool may_lack_parts) {
  const PartsByAddress parts(function);
  std::vector<LabelUse> label_instructions, foreign_labels;
  if (const auto why = find_label_instructions(frames, parts, label_instructions, foreign_labels))
    return Unresolved{*why};
  IndirectJumps result;
  if (std::ranges::any_of(function.parts, [](const Code& part) {
        return std::ranges::any_of(part.insns, [](const Insn& i) { return i.flow == Flow::jump_indirect; });
      })) {
    auto jumps = analyze_jumps(image, frames, last_calls, data, parts, may_lack_parts);
    if (!jumps) return jumps;
    result = std::move(*jumps);
  }
  // The address of a label is used by the function's own jumps to labels, or as the base of one of its tables, or by a
  // jump that comes from elsewhere.
  const bool jumps_to_labels =
      std::ranges::any_of(result.jumps, [](const IndirectJump& j) { return j.kind == JumpKind::labels; });
  std::erase_if(label_instructions,
                [&](const LabelUse& u) { return std::ranges::find(result.label_uses, u) != result.label_uses.end(); });
  if (!foreign_labels.empty() || !label_instructions.empty()) {
    const Instructions code(parts);
    JumpAnalysis analysis(image, frames, data, code, {});
    analysis.run(!may_lack_parts);
    // A program counter may be compared with two labels of another function, to find out whether control was between
    // them.
    auto is_only = [&](OldAddr label, uint8_t allowed) {
      const uint8_t uses = analysis.uses_of(label);
      return uses != 0 && !(uses & ~allowed) && !analysis.reads_own_code();
    };
    std::erase_if(foreign_labels, [&](const LabelUse& u) { return !is_only(u.label, kKept | kOnStack); });
    // The label itself is not needed, only what is so far from it.
    std::erase_if(label_instructions, [&](const LabelUse& u) { return is_only(u.label, kDistance); });
    for (const LabelUse& u : label_instructions) {
      if ((jumps_to_labels && !(analysis.uses_of(u.label) & kDistance)) ||
          is_only(u.label, kKept | kOnStack | kCompared))
        continue;
      const Code& part = function.parts[u.field.at.part];
      return Unresolved{{ReasonCode::label_taken_for_no_jump, part.address(part.insns[u.field.at.insn])}};
    }
  }
  for (const auto* uses : {&label_instructions, &foreign_labels})
    result.label_uses.insert(result.label_uses.end(), uses->begin(), uses->end());
  sort_unique(result.label_uses);
  return result;
}

}  // namespace profld
