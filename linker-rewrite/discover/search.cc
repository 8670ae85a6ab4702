// The search goes on from start to start until nothing new is found. A body ends at each call of which it is not known
// that it returns; it is explored again when that is known. So nothing is ever taken for code that may be none.

#include "search.h"

#include <algorithm>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/x86/linear_sweep.h"
#include "resolved_jumps.h"

namespace profld {

Search::Search(const Program& program, const Roots& roots, std::function<void(double)> show)
    : program_(program),
      roots_(roots),
      show_(std::move(show)),
      image_(*program.image),
      undescribed_(undescribed_code(program)),
      functions_(image_.code()),
      returning_(image_.code()),
      noreturn_(*program.image, *program.frames),
      last_calls_(program) {
  for (const OldRange& r : undescribed_) all_ += r.size();
}

void Search::run() {
  for (OldAddr a : roots_.starts) add(a, Start::Kind::function, StackState::at_entry());
  pointers_.insert(roots_.pointers.begin(), roots_.pointers.end());
  find_objects();
  constexpr unsigned kMaxRenewals = 16;  // one changes exits, and so may bring the next
  for (unsigned renewals = 0;;) {
    explore_queued();
    if (accept_pointers({pointers_.begin(), pointers_.end()}, !image_.is_position_independent())) continue;
    forget_targets_after_new_starts();
    if (!queue_.empty() || resolve_jumps()) continue;
    if (accept_pointers(roots_.in_data, true)) continue;
    if (renewals < kMaxRenewals && renew_arrivals() && ++renewals) continue;
    if (accept_unaligned(false)) continue;
    if (accept_after_jumps()) continue;
    if (accept_after_last_calls()) continue;
    if (add_labels()) continue;
    if (!accept_unaligned(true)) break;
  }
}

// ---- What bodies ask.

bool Search::known_never_returns(OldAddr target, bool through_word) const {
  const std::lock_guard lock(noreturn_mutex_);
  const auto [it, added] = never_returns_.try_emplace(target, false);
  if (!added) return it->second;
  Insn call;
  call.flow = through_word ? Flow::call_indirect : Flow::call;
  call.rip_relative = through_word;
  return it->second = noreturn_.never_returns(call, target);
}

Surroundings::Returns Search::returns(const Insn& call, OldAddr target) const {
  if (call.flow == Flow::call_indirect)
    return call.rip_relative && known_never_returns(target, true) ? Returns::no : Returns::yes;
  if (returning_.contains(target)) return Returns::yes;
  if (is_undescribed(target)) return Returns::unknown;
  return known_never_returns(target, false) ? Returns::no : Returns::yes;
}

const std::vector<OldAddr>* Search::targets_of(OldAddr jump) const {
  const auto start = jumps_.find(jump);
  if (start == jumps_.end()) return nullptr;
  const auto s = starts_.find(start->second);
  if (s == starts_.end()) return nullptr;
  const auto before = starts_.upper_bound(jump);
  if (before == starts_.begin() || root_of(std::prev(before)->first) != start->second) return nullptr;
  const auto targets = s->second.targets.find(jump);
  return targets != s->second.targets.end() ? &targets->second : nullptr;
}

// ---- Starts.

OldRange Search::window(OldAddr start) const {
  OldRange w{start, range_with(undescribed_, start)->end};
  if (const auto next = starts_.upper_bound(start); next != starts_.end()) w.end = std::min(w.end, next->first);
  return w;
}

std::map<OldAddr, Start>::iterator Search::owner(OldAddr a) {
  auto s = starts_.upper_bound(a);
  if (s == starts_.begin()) return starts_.end();
  --s;
  return window(s->first).contains(a) ? s : starts_.end();
}

OldAddr Search::root_of(OldAddr start) const {
  constexpr unsigned kMaxSteps = 16;
  for (unsigned i = 0; i < kMaxSteps; ++i) {
    const auto s = starts_.find(start);
    if (s == starts_.end() || s->second.kind != Start::Kind::jumped || s->second.from == OldAddr()) break;
    start = s->second.from;
  }
  return start;
}

void Search::queue(OldAddr start) {
  const auto s = starts_.find(start);
  if (s == starts_.end() || std::exchange(s->second.queued, true)) return;
  queue_.push_back(start);
}

void Search::add(OldAddr at, Start::Kind kind, const StackState& state, OldAddr from, bool may_be_inside) {
  if (kind == Start::Kind::function) {
    if (functions_.contains(at)) return;
    functions_.add(at);
  }
  const auto [it, added] = starts_.try_emplace(at);
  Start& s = it->second;
  if (added) {
    if (it != starts_.begin())
      if (auto before = std::prev(it);
          before->second.explored && !before->second.body.runs.empty() && before->second.body.runs.back().end > at)
        queue(before->first);
    s.kind = kind;
    s.state = state;
    s.from = from;
    s.may_be_inside = may_be_inside;
    queue(at);
  } else if (kind != Start::Kind::jumped) {
    if (s.kind != Start::Kind::jumped) {
      if (kind == Start::Kind::function) s.kind = kind;
      return;
    }
    s.kind = kind;
    s.state = StackState::at_entry();
    s.from = OldAddr();
    queue(at);
  } else if (s.kind == Start::Kind::pointer) {
    // A number was a label's: compilers jump to no function while the frame is in place.
    const auto root = starts_.find(root_of(from));
    if (!image_.is_position_independent() && !state.is_as_at_entry() && root != starts_.end() &&
        root->second.kind == Start::Kind::function && root->second.body.is_understood)
      make_fragment(at, state, from);
  } else if (s.kind == Start::Kind::jumped) {
    if (s.from != OldAddr() && root_of(s.from) != root_of(from)) s.from = OldAddr();
    if (s.state.merge(state)) queue(at);
  }
}

// What was taken for a function belongs to that of the body at `from`, which comes there in that state.
void Search::make_fragment(OldAddr label, const StackState& state, OldAddr from) {
  Start& s = starts_.at(label);
  s.kind = Start::Kind::jumped;
  s.state = state;
  s.from = from;
  queue(label);
}

void Search::add_entry(OldAddr start, OldAddr at, const StackState& state) {
  Start& s = starts_.at(start);
  for (BodyEntry& e : s.others)
    if (e.at == at) {
      if (e.state.merge(state)) queue(start);
      return;
    }
  s.others.push_back({at, state});
  queue(start);
}

// What seemed to be a function goes on in the body that jumps to it.
void Search::remove_inside(OldAddr start) {
  const OldAddr from = starts_.at(start).from, root = root_of(from);
  const auto erase = [&](auto s) {
    returning_.remove(s->first);
    return starts_.erase(s);
  };
  auto next = erase(starts_.find(start));
  // What followed it, and was taken for fragments because its start lay between.
  while (next != starts_.end() && next->second.kind == Start::Kind::jumped && root_of(next->first) == root)
    next = erase(next);
  std::vector<OldAddr>& inside = starts_.at(from).inside;
  inside.insert(std::ranges::upper_bound(inside, start), start);
  queue(from);
}

// ---- Bodies.

std::vector<BodyEntry> Search::entries_of(OldAddr start) const {
  const Start& s = starts_.at(start);
  std::vector<BodyEntry> entries{{start, s.state}};
  const OldRange w = window(start);
  for (const BodyEntry& e : s.others)
    if (w.contains(e.at)) entries.push_back(e);
  return entries;
}

void Search::explore_queued() {
  while (!queue_.empty()) {
    std::vector<OldAddr> batch = std::exchange(queue_, {});
    sort_unique(batch);
    std::vector<Body> bodies(batch.size());
    std::erase_if(batch, [&](OldAddr a) {
      const auto s = starts_.find(a);
      if (s == starts_.end()) return true;
      s->second.queued = false;
      return false;
    });
    parallel_for(
        batch.size(),
        [&](size_t i) {
          bodies[i] = explore(image_, window(batch[i]), entries_of(batch[i]), starts_.at(batch[i]).inside, *this);
        },
        4);
    for (size_t i = 0; i < batch.size(); ++i)
      if (starts_.contains(batch[i])) apply(batch[i], std::move(bodies[i]));
    show_progress();
  }
}

// Each time that there is a hundredth more.
void Search::show_progress() {
  constexpr double kStep = 0.01;
  const double share = all_ == 0 ? 1 : std::min(1.0, double(gone_through_) / double(all_));
  if (share < shown_ + kStep) return;
  shown_ = share;
  show_(share);
}

void Search::apply(OldAddr start, Body body) {
  Start& s = starts_.at(start);
  // Another start was found within it, since.
  if (!body.runs.empty() && body.runs.back().end > window(start).end) return queue(start);
  // A body that has grown since, because a call in it returns, counts with what there is more.
  for (const OldRange& r : s.body.runs) gone_through_ -= r.size();
  for (const OldRange& r : body.runs) gone_through_ += r.size();
  s.body = std::move(body);
  s.explored = true;
  if (s.body.is_understood && !s.body.jumps.empty())
    with_jumps_.insert(start);
  else
    with_jumps_.erase(start);
  // References of what is not code would lead anywhere.
  if (!s.body.is_understood) return set_returns(start);
  const Body& b = s.body;
  if (!b.runs.empty() && b.runs.back().end == b.window.end && functions_.contains(b.window.end))
    if (const auto target = target_of_last_call(image_, b.runs.back())) last_calls_.add(*target);
  if (s.may_be_inside && s.kind == Start::Kind::jumped && starts_.contains(s.from)) {
    const Body& from = starts_.at(s.from).body;
    const bool goes_back = std::ranges::any_of(
        b.exits, [&](const BodyExit& e) { return e.target > s.from && e.target < start && from.reaches(e.target); });
    // As a function it would find nothing in the registers that hold no arguments.
    const auto is_function = [&] {
      return is_like_function(explore(image_, window(start), {{start, StackState::at_entry()}}, {}, *this));
    };
    if (goes_back || b.breaches != 0 || b.runs.empty() || !is_function()) return remove_inside(start);
  }
  objects_.insert(objects_.end(), b.data.begin(), b.data.end());
  for (OldAddr c : b.calls)
    if (is_undescribed(c) && !b.reaches(c)) add(c, Start::Kind::function, StackState::at_entry());
  for (OldAddr c : b.calls)
    if (is_undescribed(c) && c != start && b.reaches(c) && may_start_function(image_, c))
      add(c, Start::Kind::function, StackState::at_entry());
  for (OldAddr c : b.called_next)
    if (is_endless_function(c)) add(c, Start::Kind::function, StackState::at_entry());
  for (OldAddr a : b.code)
    if (is_undescribed(a)) pointers_.insert(a);
  for (OldAddr w : b.waiting) {
    waiting_[w].push_back(start);
    if (returning_.contains(w)) queue(start);
  }
  bool returns = b.returns || s.unresolved;
  const std::vector<BodyExit> exits = b.exits;  // starts may be added
  for (const BodyExit& e : exits) returns |= leave(start, e);
  if (returns) set_returns(start);
}

// True if it is known that control comes to a return, where the exit leads.
bool Search::leave(OldAddr from, const BodyExit& e) {
  if (!is_undescribed(e.target)) {
    // Into code that is described, or out of all code.
    return !image_.is_code(e.target) || !known_never_returns(e.target, false);
  }
  const bool like_tail_call =
      e.is_jump && e.state.is_as_at_entry() && (e.leads_to_next || may_start_function(image_, e.target));
  OldAddr leads_to = e.target;
  if (const auto there = starts_.find(e.target); there != starts_.end()) {
    add(e.target, Start::Kind::jumped, e.state, from);
  } else {
    const auto g = owner(e.target);
    const OldAddr root = root_of(from);
    if (g != starts_.end() && g->second.explored &&
        (g->second.body.reaches(e.target) || (g->first == root && !like_tail_call))) {
      leads_to = g->first;
      if (g->first == root) add_entry(g->first, e.target, e.state);
    } else {
      const bool may_be_inside = g != starts_.end() && g->first == from && like_tail_call;
      add(e.target, Start::Kind::jumped, e.state, from, may_be_inside);
    }
  }
  if (leads_to == from) return false;
  if (returning_.contains(leads_to)) return true;
  followers_[leads_to].push_back(from);
  return false;
}

void Search::set_returns(OldAddr start) {
  std::vector<OldAddr> pending{start};
  while (!pending.empty()) {
    const OldAddr a = pending.back();
    pending.pop_back();
    if (returning_.contains(a) || !starts_.contains(a)) continue;
    returning_.add(a);
    if (const auto w = waiting_.find(a); w != waiting_.end()) {
      for (OldAddr caller : w->second) queue(caller);
      waiting_.erase(w);
    }
    if (const auto f = followers_.find(a); f != followers_.end()) {
      pending.insert(pending.end(), f->second.begin(), f->second.end());
      followers_.erase(f);
    }
  }
}

// What is known of a place that other bodies go on to, its state and its function, is joined from all that lead there.
// But as long as not all functions are known, a body may run on into the next function, after a call that does not
// return, and lead from there to places that are none of its business. It is explored again when that function is
// found; what it told before stays joined. So in the end all this is taken once more from the exits that there are.

bool Search::renew_arrivals() {
  struct Place {
    StackState state;
    OldAddr root;
  };
  std::map<OldAddr, Place> places;                          // starts
  std::map<OldAddr, std::map<OldAddr, StackState>> within;  // by start: where other bodies come back into its body
  for (const auto& [from, s] : starts_) {
    if (!s.explored || !s.body.is_understood) continue;
    const OldAddr root = root_of(from);
    for (const BodyExit& e : s.body.exits) {
      if (!is_undescribed(e.target)) continue;
      if (starts_.contains(e.target)) {
        const auto [p, added] = places.try_emplace(e.target, Place{e.state, root});
        if (added) continue;
        p->second.state.merge(e.state);
        if (p->second.root != root) p->second.root = OldAddr();
      } else if (const auto g = owner(e.target); g != starts_.end() && g->first == root) {
        const auto [state, added] = within[root].try_emplace(e.target, e.state);
        if (!added) state->second.merge(e.state);
      }
    }
  }
  std::set<OldAddr> with_jumps;  // functions
  for (OldAddr at : with_jumps_) with_jumps.insert(root_of(at));
  bool any = false;
  for (auto& [at, s] : starts_) {
    bool changed = s.unresolved && !with_jumps.contains(at);
    if (changed) s.unresolved.reset();
    if (const auto p = places.find(at); p != places.end() && s.kind == Start::Kind::jumped) {
      changed |= !(s.state == p->second.state) || (s.from == OldAddr() ? s.from : root_of(s.from)) != p->second.root;
      s.state = std::move(p->second.state);
      s.from = p->second.root;
    }
    std::vector<BodyEntry> others;
    const auto w = within.find(at);
    for (const BodyEntry& known : s.others)
      if (known.is_label)
        others.push_back(known);
      else if (w != within.end())
        if (const auto e = w->second.find(known.at); e != w->second.end()) others.push_back({known.at, e->second});
    changed |= others != s.others;
    s.others = std::move(others);
    if (!changed) continue;
    queue(at);
    any = true;
  }
  return any;
}

// Indirect jumps of bodies, and what comes of them: places in the body, fragments, and labels. What the analysis says
// of each body is in resolved_jumps.cc.
//
// Entries may lead to cold fragments as well, which nothing else leads to. Where the entry certainly belongs to the
// table, its target belongs to the function: a comparison asks for that many entries, or a later one leads into the
// function. The last entries of a table without a comparison do not tell it from the next table. A target of theirs is
// taken for a fragment only among fragments of that function, or if it goes on in the middle of the function. (At a
// fixed address an entry may have been taken for a pointer to a function before.)
//
// A table may lead to what nothing else calls, and only that tells what comes after these calls. So tables that are
// understood are followed while others are not yet.

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

// True if code at `a` stands where fragments of the function at `root` do, which compilers put close together. What
// follows the function's table in memory may be that of a function after it. So code after the last fragment may be
// that function's.
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

// What was looked at after a body may belong to a start that was found since.
void Search::forget_targets_after_new_starts() {
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

// True if a word of the array leads after the function's known code, or after where another word leads, to what is no
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
    const bool is_after =
        g != starts_.end() && (g->first == start || std::ranges::find(targets, g->first) != targets.end());
    return is_after && !is_like_function(explored({a}).front());
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
