// Addresses that code takes, words of data, and numbers that may be either. An address of code is a function's, or that
// of a label. It is tried as a function's start: the code there must do what functions do (stack_state.h). What else
// tells the two apart is written in discover.cc.

#include <algorithm>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"
#include "search.h"

namespace profld {

bool Search::is_like_function(const Body& body) const {
  return body.is_understood && body.breaches == 0 && !body.runs.empty() && calls_as_abi_asks(body);
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
      } else if (!b.jumps.empty() &&
                 (cautiously || !may_start_function(image_, a) || std::ranges::find(b.code, a) != b.code.end())) {
        return false;  // after a jump that is not understood: a label, perhaps
      }
    }
  }
  if (cautiously && !may_start_function(image_, a)) return false;
  // The more is known of what it calls, the more there is to object to.
  const auto r = refused_.find(a);
  return r == refused_.end() || r->second != end;
}

// GCC takes less care of the stack where it calls functions of the same file that it knows.
bool Search::calls_as_abi_asks(const Body& body) const {
  return std::ranges::all_of(body.unaligned_calls, [&](OldAddr target) { return is_undescribed(target); });
}

// True if the code at `a` is like a function that does not return, and leaves its return address alone.
bool Search::is_endless_function(OldAddr a) const {
  const Body body = explore(image_, window(a), {{a, StackState::at_entry()}}, {}, *this);
  const bool takes_return_address = std::ranges::any_of(body.rows, [](const FrameRow& r) {
    return r.frame_address && r.frame_address->reg == kRsp && r.frame_address->offset < 8;
  });
  return is_like_function(body) && !body.returns && body.waiting.empty() && body.exits.empty() && !takes_return_address;
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

void Search::accept(OldAddr a) {
  add(a, Start::Kind::pointer, StackState::at_entry());
  starts_.at(a).in_tables_only = !pointers_.contains(a) && !std::ranges::binary_search(roots_.written, a);
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
  OldAddr after_jump;  // the end of the window in which a jump is not understood
  for (size_t i = 0; i < tried.size(); ++i) {
    if (!is_like_function(bodies[i])) {
      refused_[tried[i]] = bodies[i].window.end;
      continue;
    }
    if (tried[i] < after_jump && (cautiously || !may_start_function(image_, tried[i]))) continue;
    if (starts_.contains(tried[i])) continue;
    if (!bodies[i].jumps.empty()) after_jump = std::max(after_jump, bodies[i].window.end);
    accept(tried[i]);
    any = true;
  }
  return any;
}

// What follows a function with a jump that is not understood: a function, or a label. (At a fixed address: if the
// function itself takes the address.)
bool Search::accept_after_jumps() {
  std::vector<OldAddr> tried;
  const auto try_after = [&](OldAddr jumping, OldAddr a) {
    const auto s = is_undescribed(a) && !starts_.contains(a) ? owner(a) : starts_.end();
    if (s != starts_.end() && s->first == jumping && !s->second.body.reaches(a) && may_follow_function(image_, a))
      tried.push_back(a);
  };
  for (OldAddr at : with_jumps_) {
    const auto s = starts_.find(at);
    if (s == starts_.end()) continue;
    for (OldAddr a : s->second.body.code) try_after(at, a);
    if (!image_.is_position_independent()) continue;
    const OldAddr end = window(at).end;
    for (auto p = pointers_.upper_bound(at); p != pointers_.end() && *p < end; ++p) try_after(at, *p);
  }
  sort_unique(tried);
  const std::vector<Body> bodies = explored(tried);
  bool any = false;
  for (size_t i = 0; i < tried.size(); ++i) {
    if (!is_like_function(bodies[i]) || starts_.contains(tried[i])) continue;
    accept(tried[i]);
    starts_.at(tried[i]).is_guess = true;
    any = true;
  }
  return any;
}

// The body as it is if the functions in `last_calls_` never return.
Body Search::explored_up_to_last_calls(OldAddr start) const {
  class UpToLastCalls : public Surroundings {
   public:
    explicit UpToLastCalls(const Search& search) : search_(search) {}
    Returns returns(const Insn& call, OldAddr target) const override {
      return search_.last_calls_.contains(target) ? Returns::no : search_.returns(call, target);
    }
    const std::vector<OldAddr>* targets_of(OldAddr jump) const override { return search_.targets_of(jump); }

   private:
    const Search& search_;
  };
  return explore(image_, window(start), entries_of(start), starts_.at(start).inside, UpToLastCalls(*this));
}

// What a body comes to only after a call that seems never to return: a function, or a label.
bool Search::accept_after_last_calls() {
  bool any = false;
  for (OldAddr a : pointers_) {
    const auto s = is_undescribed(a) && !starts_.contains(a) ? owner(a) : starts_.end();
    if (s == starts_.end() || !s->second.body.reaches(a)) continue;
    const auto called = target_of_last_call(image_, {s->first, a});
    if (!called || !last_calls_.contains(*called) || explored_up_to_last_calls(s->first).reaches(a)) continue;
    if (!is_like_function(explored({a}).front())) continue;
    accept(a);
    starts_.at(a).is_guess = true;
    any = true;
  }
  return any;
}

// The end of all that is known of a body, if nothing else can belong to it.
std::optional<OldAddr> Search::end_of_known(OldAddr start) const {
  const auto s = starts_.find(start);
  const auto root = starts_.find(root_of(start));
  for (const auto& p : {s, root})
    if (p == starts_.end() || !p->second.explored || !p->second.body.is_understood || !p->second.body.jumps.empty() ||
        p->second.unresolved || p->second.may_have_more || p->second.body.runs.empty())
      return std::nullopt;
  return s->second.body.runs.back().end;
}

// The end of the code in front of `a`, where nothing else can belong to that: of the body there, or of what tables
// describe.
std::optional<OldAddr> Search::end_in_front_of(OldAddr a) {
  if (const auto g = owner(a); g != starts_.end()) return end_of_known(g->first);
  return range_with(undescribed_, a)->start;
}

bool Search::goes_on_to_functions(const Body& body) const {
  return std::ranges::all_of(body.exits, [&](const BodyExit& e) {
    if (!is_undescribed(e.target)) return true;
    const auto there = starts_.find(e.target);
    return there != starts_.end() && there->second.kind != Start::Kind::jumped;
  });
}

// At a fixed address, where functions are not aligned: numbers in code, and in data. The code must do what a function
// does, and nothing else. If it begins right after another function's, it is one. `doubtful`: if it does not, but is
// after the end of a path, it may be one; but for words that the program cannot write to, as those of jump tables.
bool Search::accept_unaligned(bool doubtful) {
  if (image_.is_position_independent()) return false;
  std::vector<OldAddr> numbers = doubtful ? roots_.written : roots_.in_data, tried;
  numbers.insert(numbers.end(), pointers_.begin(), pointers_.end());
  sort_unique(numbers);
  for (OldAddr a : numbers) {
    if (starts_.contains(a) || may_start_function(image_, a)) continue;
    const std::optional<OldAddr> end = end_in_front_of(a);
    if (!end || *end > a) continue;
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
    if (!is_like_function(b)) {
      refused_[a] = b.window.end;
      continue;
    }
    const auto g = owner(a);
    const bool follows_last = any && g != starts_.end() && g->first == last;
    const std::optional<OldAddr> end = follows_last ? std::optional(last_end) : end_in_front_of(a);
    const bool certain = end && *end <= a && is_padding(image_, {*end, a}) && goes_on_to_functions(b);
    if (!certain && !doubtful) continue;
    if (!certain && (!end || *end > a)) continue;
    accept(a);
    starts_.at(a).is_guess = !certain;
    if (b.jumps.empty() && b.waiting.empty()) {
      last = a;
      last_end = b.runs.back().end;
    }
    any = true;
  }
  return any;
}

// __builtin_longjmp leads to a label of the function that has called __builtin_setjmp, which stores its address.
// Nothing else leads there. So code whose address a function takes, and that is like no function's start, belongs to
// that function, if it is next to code of that function. The height of the stack is not known there.
bool Search::add_labels() {
  std::vector<std::pair<OldAddr, OldAddr>> labels;  // and what takes their addresses
  for (const auto& [start, s] : starts_)
    if (s.body.is_understood)
      for (OldAddr a : s.body.code)
        if (is_undescribed(a) && !starts_.contains(a)) labels.emplace_back(a, start);
  bool any = false;
  for (const auto& [label, from] : labels) any |= add_label(label, from);
  return any;
}

bool Search::add_label(OldAddr label, OldAddr from) {
  if (starts_.contains(label)) return false;
  const OldAddr root = root_of(from);
  const auto g = owner(label);
  const bool is_after_own = g != starts_.end() && root_of(g->first) == root;
  if (g != starts_.end() && !g->second.body.runs.empty()) {
    const Body& before = g->second.body;
    const bool in_gap = before.runs.back().end > label;
    if (before.reaches(label) || (in_gap && !is_after_own)) return false;
    if (!in_gap && !may_follow_function(image_, label)) return false;
    if (before.runs.back().end < label && may_start_function(image_, label)) return false;
  }
  if (is_like_function(explore(image_, window(label), {{label, StackState::at_entry()}}, {}, *this))) return false;
  if (!is_after_own) {
    const Body body = explore(image_, window(label), {{label, StackState()}}, {}, *this);
    if (!body.is_understood || body.runs.empty() || root_of(body.runs.back().end) != root) return false;
    add(label, Start::Kind::jumped, StackState(), from);
    starts_.at(label).is_guess = true;
    followers_[label].push_back(from);
    return true;
  }
  Start& s = g->second;
  std::vector<BodyEntry> entries = entries_of(g->first);
  if (std::ranges::find(s.others, label, &BodyEntry::at) != s.others.end()) return false;
  entries.push_back({label, StackState(), true});
  if (!explore(image_, window(g->first), entries, s.inside, *this).is_understood) return false;
  s.others.push_back(entries.back());
  queue(g->first);
  return true;
}

}  // namespace profld
