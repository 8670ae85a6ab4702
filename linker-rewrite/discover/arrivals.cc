// What is known of a place that other bodies go on to, its state and its function, is joined from all that lead there.
// But as long as not all functions are known, a body may run on into the next function, behind a call that does not
// return, and lead from there to places that are none of its business. It is explored again when that function is found;
// what it told before stays joined. So in the end all this is taken once more from the exits that there are.

#include "search.h"

namespace profld {

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

}  // namespace profld
