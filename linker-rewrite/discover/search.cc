// The search goes on from start to start until nothing new is found. A body ends at each call of which it is not known
// that it returns; it is explored again when that is known. So nothing is ever taken for code that may be none.

#include "search.h"

#include <algorithm>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"

namespace profld {

Search::Search(const Program& program, std::function<void(double)> show)
    : program_(program),
      show_(std::move(show)),
      image_(*program.image),
      undescribed_(undescribed_code(program)),
      functions_(image_.code()),
      returning_(image_.code()),
      noreturn_(*program.image, *program.frames) {
  for (const OldRange& r : undescribed_) all_ += r.size();
}

void Search::run(const Roots& roots) {
  for (OldAddr a : roots.starts) add(a, Start::Kind::function, StackState::at_entry());
  pointers_.insert(roots.pointers.begin(), roots.pointers.end());
  const std::vector<OldAddr> in_data = pointers_in_data();
  find_objects();
  constexpr unsigned kMostRenewals = 16;  // one changes exits, and so may bring the next
  for (unsigned renewals = 0;;) {
    explore_queued();
    if (accept_pointers({pointers_.begin(), pointers_.end()}, !image_.is_position_independent())) continue;
    if (resolve_jumps()) continue;
    if (accept_pointers(in_data, true)) continue;
    if (renewals < kMostRenewals && renew_arrivals() && ++renewals) continue;
    if (accept_unaligned(false)) continue;
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
          const Start& s = starts_.at(batch[i]);
          std::vector<BodyEntry> entries{{batch[i], s.state}};
          const OldRange w = window(batch[i]);
          for (const BodyEntry& e : s.others)
            if (w.contains(e.at)) entries.push_back(e);
          bodies[i] = explore(image_, w, entries, s.inside, *this);
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
  constexpr uint64_t kLeastFunction = 4;  // bytes
  if (s.may_be_inside && s.kind == Start::Kind::jumped && starts_.contains(s.from)) {
    const Body& from = starts_.at(s.from).body;
    const bool goes_back = std::ranges::any_of(
        b.exits, [&](const BodyExit& e) { return e.target > s.from && e.target < start && from.reaches(e.target); });
    // As a function it would find nothing in the registers that hold no arguments.
    const auto is_function = [&] {
      return is_like_function(explore(image_, window(start), {{start, StackState::at_entry()}}, {}, *this));
    };
    if (goes_back || b.breaches != 0 || b.runs.empty() || b.runs.front().size() < kLeastFunction || !is_function())
      return remove_inside(start);
  }
  objects_.insert(objects_.end(), b.data.begin(), b.data.end());
  for (OldAddr c : b.calls)
    if (is_undescribed(c) && !b.reaches(c)) add(c, Start::Kind::function, StackState::at_entry());
  for (OldAddr c : b.calls)
    if (is_undescribed(c) && c != start && b.reaches(c) && may_start_function(image_, c))
      add(c, Start::Kind::function, StackState::at_entry());
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
  const bool like_tail_call = e.is_jump && e.state.is_as_at_entry() && may_start_function(image_, e.target);
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

// ---- Pointers.

bool Search::is_like_function(const Body& body) const {
  return body.is_understood && body.breaches == 0 && !body.runs.empty();
}

bool Search::is_worth_trying(OldAddr a, bool cautiously) const {
  const OldRange* range = range_with(undescribed_, a);
  const auto next = starts_.upper_bound(a);
  const OldAddr end = next != starts_.end() ? std::min(range->end, next->first) : range->end;  // of its window
  if (next != starts_.begin()) {
    const auto before = std::prev(next);
    if (before->first == a) return false;
    if (before->first >= range->start) {
      const Body& b = before->second.body;
      if (b.reaches(a)) {
        if (!std::ranges::binary_search(b.jumped_to, a) || !may_start_function(image_, a)) return false;
      } else if (!b.jumps.empty() && (cautiously || !may_start_function(image_, a))) {
        return false;  // behind a jump that is not understood: a label, perhaps
      }
    }
  }
  if (cautiously && !may_start_function(image_, a)) return false;
  // The more is known of what it calls, the more there is to object to.
  const auto r = refused_.find(a);
  return r == refused_.end() || r->second != end;
}

// What the code at each of them does, if it is a function.
std::vector<Body> Search::explored(const std::vector<OldAddr>& starts) const {
  std::vector<Body> bodies(starts.size());
  parallel_for(
      starts.size(),
      [&](size_t i) {
        bodies[i] = explore(image_, window(starts[i]), {{starts[i], StackState::at_entry()}}, {}, *this);
      },
      4);
  return bodies;
}

// Accepts those that are functions' starts, as far as that can be told. `cautiously`: the numbers may be no addresses,
// or labels of functions whose jumps are not understood yet.
bool Search::accept_pointers(const std::vector<OldAddr>& candidates, bool cautiously) {
  const std::vector<OldAddr> tried =
      parallel_collect<OldAddr>(candidates.size(), [&](size_t i, std::vector<OldAddr>& out) {
        if (is_worth_trying(candidates[i], cautiously)) out.push_back(candidates[i]);
      });
  const std::vector<Body> bodies = explored(tried);
  bool any = false;
  OldAddr behind_jump;  // the end of the window in which a jump is not understood
  for (size_t i = 0; i < tried.size(); ++i) {
    if (!is_like_function(bodies[i])) {
      refused_[tried[i]] = bodies[i].window.end;
      continue;
    }
    if (tried[i] < behind_jump && (cautiously || !may_start_function(image_, tried[i]))) continue;
    if (starts_.contains(tried[i])) continue;
    if (!bodies[i].jumps.empty()) behind_jump = std::max(behind_jump, bodies[i].window.end);
    add(tried[i], Start::Kind::pointer, StackState::at_entry());
    starts_.at(tried[i]).in_tables_only =
        !pointers_.contains(tried[i]) && !std::ranges::binary_search(written_pointers_, tried[i]);
    any = true;
  }
  return any;
}

// The ends of all that is known of a body, if nothing else can belong to it.
std::optional<OldAddr> Search::end_of_known(OldAddr start) const {
  const auto s = starts_.find(start);
  const auto root = starts_.find(root_of(start));
  for (const auto& p : {s, root})
    if (p == starts_.end() || !p->second.explored || !p->second.body.is_understood || !p->second.body.jumps.empty() ||
        p->second.unresolved || p->second.may_have_more || p->second.body.runs.empty())
      return std::nullopt;
  return s->second.body.runs.back().end;
}

bool Search::goes_on_to_functions(const Body& body) const {
  return std::ranges::all_of(body.exits, [&](const BodyExit& e) {
    if (!is_undescribed(e.target)) return true;
    const auto there = starts_.find(e.target);
    return there != starts_.end() && there->second.kind != Start::Kind::jumped;
  });
}

// At a fixed address, where functions are not aligned: numbers in code, and in data that programs write to, where
// compilers put no jump tables. The code must do what a function does, and nothing else. If it begins right behind
// another function's, it is one. `doubtful`: if it does not, but is behind the end of a path, it may be one.
bool Search::accept_unaligned(bool doubtful) {
  if (image_.is_position_independent()) return false;
  std::vector<OldAddr> numbers = written_pointers_, tried;
  numbers.insert(numbers.end(), pointers_.begin(), pointers_.end());
  sort_unique(numbers);
  for (OldAddr a : numbers) {
    if (starts_.contains(a) || may_start_function(image_, a)) continue;
    const auto g = owner(a);
    if (g == starts_.end() || !end_of_known(g->first) || g->second.body.runs.back().end > a) continue;
    if (doubtful && !may_follow_function(image_, a)) continue;
    if (const auto r = refused_.find(a); r != refused_.end() && r->second == window(a).end) continue;
    tried.push_back(a);
  }
  const std::vector<Body> bodies = explored(tried);
  bool any = false;
  OldAddr last, last_end;  // of what is accepted
  for (size_t i = 0; i < tried.size(); ++i) {
    const OldAddr a = tried[i];
    const Body& b = bodies[i];
    if (!is_like_function(b) || !b.calls_aligned) {
      refused_[a] = b.window.end;
      continue;
    }
    const auto g = owner(a);
    const std::optional<OldAddr> end = any && g->first == last ? std::optional(last_end) : end_of_known(g->first);
    const bool certain = end && *end <= a && is_padding(image_, {*end, a}) && goes_on_to_functions(b);
    if (!certain && !doubtful) continue;
    if (!certain && (!end || *end > a)) continue;
    add(a, Start::Kind::pointer, StackState::at_entry());
    starts_.at(a).is_guess = !certain;
    if (b.jumps.empty() && b.waiting.empty()) {
      last = a;
      last_end = b.runs.back().end;
    }
    any = true;
  }
  return any;
}

// At a fixed address: words of data that may be addresses of code.
std::vector<OldAddr> Search::pointers_in_data() {
  std::vector<OldAddr> pointers;
  if (image_.is_position_independent()) return pointers;
  for (const auto& [word, target] : find_apparent_code_pointers(image_)) {
    if (!is_undescribed(target)) continue;
    pointers.push_back(target);
    if (image_.is_writable(word)) written_pointers_.push_back(target);
  }
  sort_unique(pointers);
  sort_unique(written_pointers_);
  return pointers;
}

}  // namespace profld
