// Indirect jumps of bodies. The analysis of jumps wants a function's code from its first byte to its last, but where a
// body with such a jump ends is not known: its last part may be reached through the table alone. So the analysis gets
// the code that is known to belong to the body, and more of what follows only when an entry of a table leads there.
//
// Entries may lead to cold fragments as well, which nothing else leads to. Where the entry certainly belongs to the table,
// its target belongs to the function: a comparison asks for that many entries, or a later one leads into the function. The
// last entries of a table without a comparison do not tell it from the next table. A target of theirs is taken for a fragment
// only among fragments of that function, or if it goes on in the middle of the function. (At a fixed address an entry may have
// been taken for a pointer to a function before.)
//
// Labels of computed gotos are known by their addresses, which the function's code takes, or words of data hold. Where the
// stack is empty, a jump by such an address may be a tail call as well, of a function behind this one. If all that tells is
// whether such code is looked at, the jump is not understood.
//
// A table may lead to what nothing else calls, and only that tells what comes behind these calls. So tables that are
// understood are followed while others are not yet.

#include <algorithm>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/jumps/tables.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/linear_sweep.h"
#include "search.h"

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

}  // namespace

// What the analysis says of the jumps of one body and its fragments.
struct ResolvedJumps {
  std::optional<Reason> why;  // why they are not understood
  std::map<OldAddr, std::vector<OldAddr>> targets;
  bool may_have_more = false;
  std::vector<std::pair<OldAddr, OldAddr>> arrays;  // jumps through arrays of pointers, and where these begin
  OldAddr outside;                                  // where an entry leads that belongs to no body
  std::vector<OldAddr> elsewhere, perhaps;          // see Unresolved
};

namespace {

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

// The labels of a computed goto, which may lead to any of them. In data, words that follow each other are a table if one
// of them leads into the code that certainly belongs to the body, which ends at `end`. Of addresses in code, that must take them.
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

// `end`: of the code that certainly belongs to the body. `names_more`: it takes addresses behind the code that was looked
// at, which may be those of labels.
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

// A body, or a fragment of it, that the analysis is given.
struct Part {
  OldRange window;
  OldAddr certain_end;  // of the code that certainly belongs to it
  bool may_be_longer = false;
  OldAddr first_end{};           // of the code that is tried first
  OldAddr end{};                 // of the code that is tried
  std::vector<OldAddr> named{};  // what the code takes the address of, in the window
  bool names_guess = false;      // it takes the address of a start that may be a label (Start::is_guess)

  bool has_more() const { return may_be_longer && end < window.end; }
  // Some of it may be labels, which nothing else leads to.
  bool names_more() const {
    return names_guess || std::ranges::any_of(named, [&](OldAddr a) { return a >= end; });
  }
};

// The code of the parts, of which the first is the body's; null if that does not begin with an instruction.
std::optional<FunctionCode> code_of(const Image& image, const Surroundings& surroundings,
                                    const std::vector<Part>& parts) {
  FunctionCode function;
  function.entry = parts.front().window.start;
  for (const Part& p : parts) {
    auto code = decode_as_far_as_possible(image, {p.window.start, p.end});
    if (!code && function.parts.empty()) return std::nullopt;
    if (code) end_at_calls(function.parts.emplace_back(std::move(*code)), surroundings);
  }
  return function;
}

ResolvedJumps resolve(const Image& image, const EhFrame& frames, const DataReferences& data,
                      const Surroundings& surroundings, std::vector<Part> parts) {
  constexpr unsigned kMostAttempts = 24;
  ResolvedJumps last;
  for (Part& p : parts) p.end = p.first_end;
  const auto part_with = [&](OldAddr a) {
    return std::ranges::find_if(parts, [&](const Part& p) { return p.may_be_longer && p.window.contains(a); });
  };
  for (unsigned attempt = 0; attempt < kMostAttempts; ++attempt) {
    const auto function = code_of(image, surroundings, parts);
    if (!function) break;
    const auto indirect = resolve_indirect_jumps(image, frames, data, *function, true);
    if (indirect &&
        std::ranges::none_of(parts, [&](const Part& p) { return p.has_more() && leads_to(p.end, *indirect); })) {
      const bool names_more = std::ranges::any_of(parts, &Part::names_more);
      return take_result(image, data, *function, *indirect, parts.front().certain_end, names_more);
    }
    last.why = indirect ? std::nullopt : std::optional(indirect.error().reason);
    last.elsewhere = indirect ? std::vector<OldAddr>() : indirect.error().elsewhere;
    last.perhaps = indirect ? std::vector<OldAddr>() : indirect.error().perhaps;
    last.targets.clear();
    if (!indirect)
      for (const auto& [jump, targets] : indirect.error().understood)
        if (std::ranges::none_of(parts,
                                 [&to = targets](const Part& p) { return std::ranges::find(to, p.end) != to.end(); }))
          sort_unique(last.targets.emplace(jump, targets).first->second);
    const OldAddr outside = indirect ? OldAddr() : indirect.error().outside;
    const auto owner = part_with(outside);
    if (outside != OldAddr() && owner == parts.end()) {
      last.outside = outside;
      break;
    }
    if (std::ranges::any_of(last.elsewhere, [&](OldAddr a) { return part_with(a) == parts.end(); })) break;
    if (std::ranges::none_of(parts, &Part::has_more)) break;
    // A few steps, then longer and longer ones.
    const uint64_t step = attempt < 8 ? 1 : uint64_t(1) << attempt;
    if (owner != parts.end() && outside > owner->end) owner->end = outside;
    for (Part& p : parts)
      if (p.has_more() && (owner == parts.end() || &p == &*owner))
        p.end = next_possible_start(image, p.end + step, p.window.end);
  }
  if (!last.why) last.why = Reason(ReasonCode::jump_not_understood, parts.front().window.start);
  return last;
}

}  // namespace

// Where objects begin: a table without a known bound ends there. Code that was not found yet has tables as well. So the
// addresses are taken into account that such code would take, if it were code.
void Search::find_objects() {
  for (const Relocation& r : image_.relocations())
    if (r.type == R_X86_64_RELATIVE && !image_.is_code(OldAddr(uint64_t(r.addend))))
      objects_.emplace_back(uint64_t(r.addend));
  for (const Symbol& s : image_.dynamic_symbols())
    if (s.type == STT_OBJECT && s.section != SHN_UNDEF) objects_.push_back(s.address);
  for (const Group& g : program_.groups)
    for (const Code& code : g.code.parts)
      for (const Insn& insn : code.insns)
        if (insn.rip_relative) objects_.push_back(code.target(insn));
  const std::vector<OldAddr> taken = parallel_collect<OldAddr>(
      undescribed_.size(),
      [&](size_t i, std::vector<OldAddr>& out) {
        linear_sweep(image_, undescribed_[i], [&](OldAddr at, const CachedInsn& in, std::optional<OldAddr>) {
          const auto bytes = image_.bytes(at, in.insn.length);
          if (!bytes || !in.insn.rip_relative || !is_lea(*bytes, in.insn.field)) return;
          const OldAddr target = at + in.insn.length + uint64_t(in.displacement.read(bytes->data()));
          if (image_.span().contains(target) && !image_.is_code(target)) out.push_back(target);
        });
      },
      1);
  objects_.insert(objects_.end(), taken.begin(), taken.end());
}

// Kept up from one call to the next: there may be hundreds.
const DataReferences& Search::data_references() {
  const bool first = data_.object_starts.empty() && data_.code_pointers.empty();
  std::vector<OldAddr>& objects = data_.object_starts;
  const auto known = ptrdiff_t(objects.size());
  objects.insert(objects.end(), objects_.begin(), objects_.end());
  objects_.clear();
  std::sort(objects.begin() + known, objects.end());
  std::inplace_merge(objects.begin(), objects.begin() + known, objects.end());
  objects.erase(std::unique(objects.begin(), objects.end()), objects.end());
  if (!first) return data_;
  for (const Relocation& r : image_.relocations())
    if (r.type == R_X86_64_RELATIVE && image_.is_code(OldAddr(uint64_t(r.addend))))
      data_.code_pointers.emplace_back(r.where, OldAddr(uint64_t(r.addend)));
  if (!image_.is_position_independent()) data_.code_pointers = find_apparent_code_pointers(image_);
  words_.insert(data_.code_pointers.begin(), data_.code_pointers.end());
  parallel_sort(data_.code_pointers, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : a.first < b.first;
  });
  return data_;
}

// True if code at `a` stands where fragments of the function at `root` do, which compilers put close together. What follows
// the function's table in memory may be that of a function behind it. So code behind the last fragment may be that function's.
bool Search::is_close(OldAddr a, OldAddr root, const StackState& state) const {
  const auto after = starts_.upper_bound(a);
  if (after == starts_.begin()) return false;
  const auto before = std::prev(after);
  if (before->second.explored && !before->second.body.runs.empty() && before->second.body.runs.back().end == a)
    return true;
  if (after == starts_.end() || after->second.kind != Start::Kind::jumped || root_of(after->first) != root)
    return false;
  if (root_of(before->first) == root) return true;
  const Body code = explore(image_, window(a), {{a, state}}, {}, *this);
  return code.is_understood && !code.runs.empty() && code.runs.back().end == after->first;
}

// True if code at `a` goes on in the middle of the function at `root`, as only its own parts do.
bool Search::leads_back(OldAddr a, OldAddr root, const StackState& state) {
  const Body code = explore(image_, window(a), {{a, state}}, {}, *this);
  return code.is_understood && std::ranges::any_of(code.exits, [&](const BodyExit& e) {
           if (e.target == root || !is_undescribed(e.target)) return false;
           const auto there = owner(e.target);
           return there != starts_.end() && there->second.body.reaches(e.target) && root_of(there->first) == root;
         });
}

// Fragments that a table alone leads to. What other code reaches is not taken from it.
void Search::add_fragments(OldAddr root, OldAddr from, const StackState& state, const ResolvedJumps& resolved) {
  Start& s = starts_.at(root);
  std::vector<OldAddr> targets = resolved.elsewhere;
  for (OldAddr a : resolved.perhaps)
    if (is_undescribed(a) && leads_back(a, root, state)) targets.push_back(a);
  if (const OldAddr a = resolved.outside; a != OldAddr() && is_undescribed(a) && is_close(a, root, state))
    targets.push_back(a);
  for (OldAddr t : targets) {
    if (!is_undescribed(t) || s.body.window.contains(t)) continue;
    const auto g = owner(t);
    if (g != starts_.end() && g->first != t &&
        std::ranges::any_of(g->second.body.runs, [&](const OldRange& r) { return r.contains(t); }))
      continue;
    if (g != starts_.end() && g->first == t) {
      if (g->second.kind != Start::Kind::pointer || image_.is_position_independent()) continue;
      make_fragment(t, state, from);
    }
    add(t, Start::Kind::jumped, state, from);
    s.tried.clear();
  }
}

namespace {

// What follows the certain code is needed at once where there may be labels, which no table leads to.
Part part_of(const Image& image, const DataReferences& data, const Body& body, OldRange window, bool may_be_longer) {
  Part p{window, body.runs.back().end, may_be_longer};
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

}  // namespace

// What was looked at behind a body may belong to a start that was found since.
void Search::forget_targets_behind_new_starts() {
  for (auto& [at, s] : starts_) {
    if (s.targets.empty() || s.resolved_up_to <= window(at).end) continue;
    for (const auto& [jump, targets] : s.targets) {
      jumps_.erase(jump);
      if (const auto body = owner(jump); body != starts_.end()) queue(body->first);
    }
    s.targets.clear();
    s.tried.clear();
  }
}

// True if a word of the array leads behind the function's known code, or behind where another word leads, to what is no
// function's start. Then the others may be labels as well.
bool Search::has_labels(OldAddr array, OldAddr start) {
  const std::vector<OldAddr>& objects = data_references().object_starts;
  std::vector<OldAddr> targets;
  for (OldAddr word = array; word == array || !std::ranges::binary_search(objects, word); word += sizeof(uint64_t)) {
    const auto target = words_.find(word);
    if (target == words_.end()) break;
    targets.push_back(target->second);
  }
  const bool has = std::ranges::any_of(targets, [&](OldAddr a) {
    if (!is_undescribed(a) || starts_.contains(a)) return false;
    const auto g = owner(a);
    const bool is_behind =
        g != starts_.end() && (g->first == start || std::ranges::find(targets, g->first) != targets.end());
    return is_behind && !is_like_function(explored({a}).front());
  });
  if (!has) return false;
  for (OldAddr a : targets)
    if (const auto s = starts_.find(a); s != starts_.end() && s->second.kind == Start::Kind::pointer)
      s->second.is_guess = true;
  return true;
}

bool Search::resolve_jumps() {
  struct Wanted {
    OldAddr start;
    OldAddr from;  // the body that they are in, or the start, if there are several
    std::vector<Part> parts;
    std::vector<OldAddr> jumps;  // not understood so far; what limits the code in which they go, and calls in it
    StackState state;            // at the first of these
    ResolvedJumps result;
  };
  std::map<OldAddr, Wanted> by_root;
  for (OldAddr at : with_jumps_)
    if (const auto there = starts_.find(at); there != starts_.end()) {
      const Start& s = there->second;
      Wanted& w = by_root.try_emplace(root_of(at), Wanted{root_of(at), at, {}, {}, s.body.jumps.front().state, {}})
                      .first->second;
      if (w.from != at) w.from = w.start;
      for (const BodyExit& j : s.body.jumps) w.jumps.push_back(j.at);
      w.jumps.push_back(window(at).end);
      if (root_of(at) != at && starts_.contains(root_of(at))) w.jumps.push_back(window(root_of(at)).end);
      w.jumps.insert(w.jumps.end(), s.body.waiting.begin(), s.body.waiting.end());
    }
  std::erase_if(by_root, [&](const auto& w) {
    const Start& s = starts_.at(w.first);
    return s.body.runs.empty() || s.tried == w.second.jumps;
  });
  if (by_root.empty()) return false;
  const DataReferences& data = data_references();
  for (auto& [root, w] : by_root) w.parts.push_back(part_of(image_, data, starts_.at(root).body, window(root), true));
  for (const auto& [at, s] : starts_)
    if (s.kind == Start::Kind::jumped && !s.body.runs.empty())
      if (const auto w = by_root.find(root_of(at)); w != by_root.end() && at != w->first)
        w->second.parts.push_back(part_of(image_, data, s.body, window(at), with_jumps_.contains(at)));
  for (auto& [root, w] : by_root)
    for (Part& p : w.parts)
      p.names_guess = std::ranges::any_of(starts_.at(p.window.start).body.code, [&](OldAddr a) {
        const auto s = starts_.find(a);
        return s != starts_.end() && s->second.is_guess;
      });
  std::vector<Wanted> wanted;
  for (auto& [root, w] : by_root) {
    starts_.at(root).tried = w.jumps;
    wanted.push_back(std::move(w));
  }
  parallel_for(
      wanted.size(),
      [&](size_t i) { wanted[i].result = resolve(image_, *program_.frames, data, *this, wanted[i].parts); }, 1);
  for (Wanted& w : wanted) {
    Start& s = starts_.at(w.start);
    for (const auto& [jump, array] : w.result.arrays)
      if (has_labels(array, w.start)) {
        w.result.why = Reason(ReasonCode::jump_not_understood, jump);
        w.result.targets.erase(jump);
      }
    if (s.unresolved.has_value() != w.result.why.has_value()) queue(w.start);
    s.unresolved = w.result.why;
    s.may_have_more = w.result.may_have_more;
    s.resolved_up_to = window(w.start).end;
    add_fragments(w.start, w.from, w.state, w.result);
    for (auto& [jump, targets] : w.result.targets) {
      // What follows the body was looked at, too, and may belong to others.
      const auto body = owner(jump);
      if (body == starts_.end() || root_of(body->first) != w.start || !body->second.body.reaches(jump)) continue;
      const std::vector<OldAddr>* known = targets_of(jump);
      if (known && *known == targets) continue;
      s.targets.insert_or_assign(jump, std::move(targets));
      jumps_.insert_or_assign(jump, w.start);
      queue(body->first);
    }
  }
  return true;
}

}  // namespace profld
