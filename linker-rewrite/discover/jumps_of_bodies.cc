// Indirect jumps of bodies, and what comes of them: places in the body, fragments, and labels. What the analysis says of each
// body is in resolved_jumps.cc.
//
// Entries may lead to cold fragments as well, which nothing else leads to. Where the entry certainly belongs to the table,
// its target belongs to the function: a comparison asks for that many entries, or a later one leads into the function. The
// last entries of a table without a comparison do not tell it from the next table. A target of theirs is taken for a fragment
// only among fragments of that function, or if it goes on in the middle of the function. (At a fixed address an entry may have
// been taken for a pointer to a function before.)
//
// A table may lead to what nothing else calls, and only that tells what comes behind these calls. So tables that are
// understood are followed while others are not yet.

#include <algorithm>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/x86/linear_sweep.h"
#include "resolved_jumps.h"
#include "search.h"

namespace profld {

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
  data_.known_code.clear();
  for (const CodeRange& r : program_.ranges)
    if (!r.may_be_fragment_of_any()) data_.known_code.push_back(r.range);
  for (const auto& [at, s] : starts_)
    if (s.kind == Start::Kind::function && !s.body.runs.empty())
      data_.known_code.push_back({at, s.body.runs.back().end});
  std::ranges::sort(data_.known_code, {}, &OldRange::start);
  if (!first) return data_;
  for (const Relocation& r : image_.relocations())
    if (r.type == R_X86_64_RELATIVE && image_.is_code(OldAddr(uint64_t(r.addend))))
      data_.code_pointers.emplace_back(r.where, OldAddr(uint64_t(r.addend)));
  if (!image_.is_position_independent()) data_.code_pointers = find_apparent_code_pointers(image_);
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
  const auto add_word = [&](OldAddr word) {
    const Relocation* r = image_.relocation_at(word);
    if (!r || r->type != R_X86_64_RELATIVE || !image_.is_code(OldAddr(uint64_t(r->addend)))) return false;
    targets.emplace_back(uint64_t(r->addend));
    return true;
  };
  const auto begins_object = [&](OldAddr word) { return std::ranges::binary_search(objects, word); };
  for (OldAddr word = array; (word == array || !begins_object(word)) && add_word(word);) word += sizeof(uint64_t);
  // The index may be negative, and no object need begin at entry 0.
  for (OldAddr word = array - sizeof(uint64_t); add_word(word) && !begins_object(word);) word = word - sizeof(uint64_t);
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

// Adds to `last_calls_` what the parts call and seems never to return, because it calls what does not, and to `added`.
void Search::find_last_calls(const std::vector<BodyPart>& parts, std::set<OldAddr>& added) {
  for (const BodyPart& p : parts)
    for (OldAddr called : starts_.at(p.window.start).body.calls) {
      const auto s = starts_.find(called);
      if (s == starts_.end() || !returning_.contains(called) || last_calls_.contains(called)) continue;
      if (std::ranges::none_of(s->second.body.calls, [&](OldAddr a) { return last_calls_.contains(a); })) continue;
      if (std::exchange(returning_with_[called], last_calls_.size()) == last_calls_.size()) continue;
      const Body body = explored_up_to_last_calls(called);
      if (!body.is_understood || body.returns || !body.exits.empty() || !body.jumps.empty()) continue;
      last_calls_.add(called);
      added.insert(called);
    }
}

bool Search::resolve_jumps() {
  struct Wanted {
    OldAddr start;
    OldAddr from;  // the body that they are in, or the start, if there are several
    std::vector<BodyPart> parts;
    std::vector<OldAddr> jumps;  // not understood so far; what limits the code in which they go, and calls in it
    StackState state;            // at the first of these
    ResolvedJumps result;
  };
  std::map<OldAddr, Wanted> by_root;
  for (OldAddr at : with_jumps_)
    if (const auto there = starts_.find(at); there != starts_.end()) {
      const Start& s = there->second;
      const OldAddr root = root_of(at);
      Wanted& w = by_root
                      .try_emplace(root, Wanted{.start = root,
                                                .from = at,
                                                .parts = {},
                                                .jumps = {},
                                                .state = s.body.jumps.front().state,
                                                .result = {}})
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
    for (BodyPart& p : w.parts)
      p.names_guess = std::ranges::any_of(starts_.at(p.window.start).body.code, [&](OldAddr a) {
        const auto s = starts_.find(a);
        return s != starts_.end() && s->second.is_guess;
      });
  std::vector<Wanted> wanted;
  for (auto& [root, w] : by_root) {
    starts_.at(root).tried = w.jumps;
    wanted.push_back(std::move(w));
  }
  std::vector<Wanted*> pending;
  for (Wanted& w : wanted) pending.push_back(&w);
  while (!pending.empty()) {
    parallel_for(
        pending.size(),
        [&](size_t i) {
          pending[i]->result = resolve(image_, *program_.frames, last_calls_, data, *this, pending[i]->parts);
        },
        1);
    std::erase_if(pending, [](const Wanted* w) { return !w->result.why; });
    std::set<OldAddr> added;
    for (const Wanted* w : pending) find_last_calls(w->parts, added);
    std::erase_if(pending, [&](const Wanted* w) {
      return std::ranges::none_of(w->parts, [&](const BodyPart& p) {
        return std::ranges::any_of(starts_.at(p.window.start).body.calls, [&](OldAddr a) { return added.contains(a); });
      });
    });
  }
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
