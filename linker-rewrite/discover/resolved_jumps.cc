// Indirect jumps of bodies. The analysis of jumps wants a function's code from its first byte to its last, but where a
// body with such a jump ends is not known: its last part may be reached through the table alone. So the analysis gets
// the code that is known to belong to the body, and more of what follows only when an entry of a table leads there.
//
// Labels of computed gotos are known by their addresses, which the function's code takes, or words of data hold. Where
// the stack is empty, a jump by such an address may be a tail call as well, of a function after this one. If all that
// tells is whether such code is looked at, the jump is not understood.

#include "resolved_jumps.h"

#include <algorithm>

#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/x86/encoding.h"

namespace profld {

namespace {

// The code of a range, up to the first bytes that are no instruction.
std::optional<Code> decode_as_far_as_possible(const Image& image, OldRange range) {
  while (range.size() != 0) {
    auto code = decode(image, range);
    if (code) return std::move(*code);
    const OldAddr end = code.error().at;
    if (end <= range.start || end >= range.end) break;
    range.end = end;
  }
  return std::nullopt;
}

// What follows a call that does not return is another path's. The analysis of jumps tells that of functions that tables
// describe; of others the search does.
void end_at_calls(Code& code, const Surroundings& surroundings) {
  for (Insn& insn : code.insns)
    if (insn.flow == Flow::call && surroundings.returns(insn, code.target(insn)) != Surroundings::Returns::yes)
      insn.flow = Flow::stop;
}

OldAddr next_possible_start(const Image& image, OldAddr from, OldAddr limit) {
  for (OldAddr a(align_up(from.value, kCodeAlignment)); a < limit; a += kCodeAlignment)
    if (may_start_function(image, a)) return a;
  return limit;
}

std::vector<OldAddr> targets_in(const JumpTable& table, OldAddr end) {
  std::vector<OldAddr> targets(table.targets.begin(), table.targets.begin() + ptrdiff_t(table.likely));
  std::erase(targets, end);  // stands for an index that cannot occur
  sort_unique(targets);
  return targets;
}

// The end of a function stands for an index that cannot occur, but what follows may belong to the function.
bool leads_to(OldAddr end, const IndirectJumps& indirect) {
  return std::ranges::any_of(indirect.tables, [&](const JumpTable& t) {
    return std::find(t.targets.begin(), t.targets.begin() + ptrdiff_t(t.likely), end) !=
           t.targets.begin() + ptrdiff_t(t.likely);
  });
}

// The labels of a computed goto, which may lead to any of them. In data, words that follow each other are a table if
// one of them leads into the code that certainly belongs to the body, which ends at `end`. Of addresses in code, that
// must take them.
std::vector<OldAddr> labels_of(const Image& image, const DataReferences& data, const FunctionCode& function,
                               const IndirectJumps& indirect, OldAddr end) {
  const OldRange window = function.parts.front().range;
  std::vector<std::pair<OldAddr, OldAddr>> words;
  for (const auto& w : data.code_pointers)
    if (window.contains(w.second) && w.second != window.start &&
        (image.is_position_independent() ||
         std::ranges::find(indirect.label_words, w.first) != indirect.label_words.end()))
      words.push_back(w);
  std::sort(words.begin(), words.end());
  std::vector<OldAddr> labels;
  for (auto from = words.begin(); from != words.end();) {
    auto to = from;
    bool leads_inside = false;
    do {
      leads_inside |= to->second < end;
      ++to;
    } while (to != words.end() && to->first == std::prev(to)->first + 8 &&
             !std::ranges::binary_search(data.object_starts, to->first));
    if (leads_inside)
      for (auto w = from; w != to; ++w) labels.push_back(w->second);
    from = to;
  }
  for (const LabelUse& u : indirect.label_uses) {
    const Code& part = function.parts[u.field.at.part];
    const bool is_certain = u.field.at.part != 0 || part.address(part.insns[u.field.at.insn]) < end;
    if (is_certain && window.contains(u.label)) labels.push_back(u.label);
  }
  sort_unique(labels);
  return labels;
}

// `end`: of the code that certainly belongs to the body. `names_more`: it takes addresses after the code that was
// looked at, which may be those of labels.
ResolvedJumps take_result(const Image& image, const DataReferences& data, const FunctionCode& function,
                          const IndirectJumps& indirect, OldAddr end, bool names_more) {
  ResolvedJumps r;
  for (const IndirectJump& j : indirect.jumps) {
    const Code& part = function.parts[j.at.part];
    const OldAddr at = part.address(part.insns[j.at.insn]);
    r.may_have_more |= j.through_array && !image.is_position_independent();
    if (j.through_array && image.is_position_independent()) r.arrays.emplace_back(at, j.array);
    std::vector<OldAddr>& targets = r.targets[at];
    if (j.kind == JumpKind::labels) {
      targets = labels_of(image, data, function, indirect, end);
      // What only this function's code names, and nothing else leads to, may be another function.
      const bool may_be_functions =
          j.may_be_tail_call && std::ranges::all_of(targets, [&](OldAddr a) {
            return a >= end && std::ranges::find(indirect.label_uses, a, &LabelUse::label) != indirect.label_uses.end();
          });
      if (targets.empty() || may_be_functions || names_more) {
        r.why = Reason(ReasonCode::jump_not_understood, at);
        r.targets.erase(at);
      }
    }
    if (j.kind == JumpKind::tail_call && j.may_be_label && names_more) {
      r.why = Reason(ReasonCode::jump_not_understood, at);
      r.targets.erase(at);
      continue;
    }
    if (j.kind == JumpKind::table) targets = targets_in(indirect.tables[j.table], function.parts.front().range.end);
  }
  return r;
}

// The code of the parts, of which the first is the body's; null if that does not begin with an instruction.
std::optional<FunctionCode> code_of(const Image& image, const Surroundings& surroundings,
                                    const std::vector<BodyPart>& parts) {
  FunctionCode function;
  function.entry = parts.front().window.start;
  for (const BodyPart& p : parts) {
    auto code = decode_as_far_as_possible(image, {p.window.start, p.end});
    if (!code && function.parts.empty()) return std::nullopt;
    if (code) end_at_calls(function.parts.emplace_back(std::move(*code)), surroundings);
  }
  return function;
}

}  // namespace

// What follows the certain code is needed at once where there may be labels, which no table leads to.
BodyPart part_of(const Image& image, const DataReferences& data, const Body& body, OldRange window,
                 bool may_be_longer) {
  BodyPart p{window, body.runs.back().end, may_be_longer};
  p.first_end = p.certain_end;
  if (!may_be_longer) return p;
  std::ranges::copy_if(body.code, std::back_inserter(p.named), [&](OldAddr a) { return p.window.contains(a); });
  const OldRange next{p.certain_end, next_possible_start(image, p.certain_end, p.window.end)};
  const auto word = std::ranges::lower_bound(data.code_pointers, next.start, {}, &std::pair<OldAddr, OldAddr>::second);
  const bool has_labels = std::ranges::any_of(p.named, [&](OldAddr a) { return next.contains(a); }) ||
                          (word != data.code_pointers.end() && next.contains(word->second));
  if (has_labels) p.first_end = next.end;
  return p;
}

ResolvedJumps resolve(const Image& image, const EhFrame& frames, const LastCalls& last_calls,
                      const DataReferences& data, const Surroundings& surroundings, std::vector<BodyPart> parts) {
  constexpr unsigned kMaxAttempts = 24;
  ResolvedJumps last;
  for (BodyPart& p : parts) p.end = p.first_end;
  const auto part_with = [&](OldAddr a) {
    return std::ranges::find_if(parts, [&](const BodyPart& p) { return p.may_be_longer && p.window.contains(a); });
  };
  for (unsigned attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const auto function = code_of(image, surroundings, parts);
    if (!function) break;
    const auto indirect = resolve_indirect_jumps(image, frames, last_calls, data, *function, true);
    if (indirect &&
        std::ranges::none_of(parts, [&](const BodyPart& p) { return p.has_more() && leads_to(p.end, *indirect); })) {
      const bool names_more = std::ranges::any_of(parts, &BodyPart::names_more);
      return take_result(image, data, *function, *indirect, parts.front().certain_end, names_more);
    }
    last.why = indirect ? std::nullopt : std::optional(indirect.error().reason);
    last.elsewhere = indirect ? std::vector<OldAddr>() : indirect.error().elsewhere;
    last.perhaps = indirect ? std::vector<OldAddr>() : indirect.error().perhaps;
    last.targets.clear();
    if (!indirect)
      for (const auto& [jump, targets] : indirect.error().understood)
        if (std::ranges::none_of(
                parts, [&to = targets](const BodyPart& p) { return std::ranges::find(to, p.end) != to.end(); }))
          sort_unique(last.targets.emplace(jump, targets).first->second);
    const OldAddr outside = indirect ? OldAddr() : indirect.error().outside;
    const auto owner = part_with(outside);
    if (outside != OldAddr() && owner == parts.end()) {
      last.outside = outside;
      break;
    }
    if (std::ranges::any_of(last.elsewhere, [&](OldAddr a) { return part_with(a) == parts.end(); })) break;
    if (std::ranges::none_of(parts, &BodyPart::has_more)) break;
    // A few steps, then longer and longer ones.
    const uint64_t step = attempt < 8 ? 1 : uint64_t(1) << attempt;
    if (owner != parts.end() && outside > owner->end) owner->end = outside;
    for (BodyPart& p : parts)
      if (p.has_more() && (owner == parts.end() || &p == &*owner))
        p.end = next_possible_start(image, p.end + step, p.window.end);
  }
  if (!last.why) last.why = Reason(ReasonCode::jump_not_understood, parts.front().window.start);
  return last;
}

}  // namespace profld
