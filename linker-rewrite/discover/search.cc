// The search goes on from start to start until nothing new is found. A body ends at each call of which it is not known
// that it returns; it is explored again when that is known. So nothing is ever taken for code that may be none.

#include "search.h"

#include <algorithm>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"

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
  constexpr unsigned kMostRenewals = 16;  // one changes exits, and so may bring the next
  for (unsigned renewals = 0;;) {
    explore_queued();
    if (accept_pointers({pointers_.begin(), pointers_.end()}, !image_.is_position_independent())) continue;
    forget_targets_behind_new_starts();
    if (!queue_.empty() || resolve_jumps()) continue;
    if (accept_pointers(roots_.in_data, true)) continue;
    if (renewals < kMostRenewals && renew_arrivals() && ++renewals) continue;
    if (accept_unaligned(false)) continue;
    if (accept_behind_jumps()) continue;
    if (accept_behind_last_calls()) continue;
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
  constexpr unsigned kMostSteps = 16;
  for (unsigned i = 0; i < kMostSteps; ++i) {
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

}  // namespace profld
