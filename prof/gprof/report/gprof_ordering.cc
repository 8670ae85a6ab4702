// gprof's way to put functions in an order in which those that call each other are near, kept with its faults, since
// another order is another output.
//
// Functions are joined to chains, an arc after the other, that with the most calls first. If an end of the arc is in no
// chain, it is put to the nearer end of the other's; if both are in chains, the arc is left for later. So a chain grows
// at its ends, and two chains are never joined.
//
//     1. Of more than 80 functions: those that most arcs lead to, among the arcs that make 90 % of all calls, as chains
//        of the arcs between them. (Not all of them; and a caller that is not called itself is printed twice.)
//     2. The arcs that make 99 % of the calls.
//     3. The arcs that were left in 2.
//     4. What else was called, and what was not, by address.
//
// Of object files there are steps 2 and 4 only, with arcs in the order in which they were seen first.

#include <algorithm>
#include <set>

#include "libprof/printable.h"
#include "ordering.h"

namespace prof::gprof {

namespace {

constexpr double kManyCalls = 0.9, kMaxCalls = 0.99;  // of all
constexpr size_t kFunctionsForOneUsedMost = 80;
constexpr uint64_t kFewArcs = 5;  // that lead to a function

struct Place {
  uint32_t next = kNone, previous = kNone;  // in its chain
  uint64_t uses = 0;                        // arcs that lead to it
  bool is_placed = false;
  bool is_alone() const { return next == kNone && previous == kNone; }
};

struct Link {
  uint32_t caller, callee;
  uint64_t calls;
  bool is_placed = false;
};

class Placement {
 public:
  Placement(const CallGraph& graph, Output& out) : graph_(graph), out_(out), places_(graph.function_count) {
    link_of_arc_.assign(graph.arcs.size(), kNone);
    for (uint32_t a = 0; a < graph.arcs.size(); ++a) {
      const Arc& arc = graph.arcs[a];
      if (arc.caller == arc.callee) continue;
      link_of_arc_[a] = uint32_t(links_.size());
      links_.push_back({arc.caller, arc.callee, arc.calls});
    }
  }

  void order_functions() {
    std::vector<uint32_t> used;
    for (uint32_t f = 0; f < places_.size(); ++f) {
      places_[f].is_placed = graph_.functions[f].calls == 0;
      if (!places_[f].is_placed) used.push_back(f);
    }
    const std::vector<uint32_t> all = by_calls(all_links());
    std::vector<uint32_t> remaining, unplaced;
    place(by_calls(take_used_most(used, all)), true, remaining);
    place(all, false, remaining);
    place(remaining, true, unplaced);
    for (const uint32_t f : used)
      if (!places_[f].is_placed) print(f);
    for (uint32_t f = 0; f < places_.size(); ++f)
      if (graph_.functions[f].calls == 0) print(f);
  }

  void order_files() {
    for (Link& link : links_)
      link.is_placed = !graph_.functions[link.caller].is_mapped || !graph_.functions[link.callee].is_mapped;
    std::vector<uint32_t> left;
    place(all_links(), false, left);
    for (uint32_t f = 0; f < places_.size(); ++f)
      if (graph_.functions[f].is_mapped && !places_[f].is_placed) print(f);
  }

 private:
  std::vector<uint32_t> all_links() const {
    std::vector<uint32_t> all(links_.size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }

  std::vector<uint32_t> by_calls(std::vector<uint32_t> links) const {
    std::stable_sort(links.begin(), links.end(),
                     [&](uint32_t a, uint32_t b) { return links_[a].calls > links_[b].calls; });
    return links;
  }

  uint64_t calls_of(const std::vector<uint32_t>& links) const {
    uint64_t sum = 0;
    for (const uint32_t link : links) sum += links_[link].calls;
    return sum;
  }

  void print(uint32_t f) { out_.text(prof_text::printable(graph_.functions[f].name) + "\n"); }

  void count_uses(const std::vector<uint32_t>& links) {
    const double all = double(calls_of(links));
    uint64_t sum = 0;
    for (const uint32_t link : links) {
      sum += links_[link].calls;
      if (double(sum) / all > kManyCalls) return;
      ++places_[links_[link].callee].uses;
    }
  }

  // Prints those of the functions used most that are not among the others of them, and returns the links between these.
  std::vector<uint32_t> take_used_most(std::vector<uint32_t> used, const std::vector<uint32_t>& links) {
    count_uses(links);
    std::stable_sort(used.begin(), used.end(),
                     [&](uint32_t a, uint32_t b) { return places_[a].uses > places_[b].uses; });
    std::vector<uint32_t> candidates;
    size_t last = 0;
    for (size_t i = 0; i < used.size() / kFunctionsForOneUsedMost && places_[used[i]].uses != kFewArcs; ++i) {
      const Function& function = graph_.functions[used[i]];
      for (const auto* arcs : {&function.callees, &function.callers})
        for (size_t a = arcs->size(); a-- > 0;) {
          const uint32_t link = link_of_arc_[(*arcs)[a]];
          if (link == kNone) continue;
          candidates.push_back(link);
          links_[link].is_placed = true;
        }
      last = i;
      places_[used[i]].is_placed = true;
    }
    std::vector<uint32_t> between;
    for (const uint32_t link : candidates) {
      Place &caller = places_[links_[link].caller], &callee = places_[links_[link].callee];
      if (!caller.is_placed || !callee.is_placed) continue;
      between.push_back(link);
      caller.is_placed = callee.is_placed = false;
    }
    for (size_t i = 0; i < last; ++i)
      if (places_[used[i]].is_placed) print(used[i]);
    return between;
  }

  // Joins by the links, `all` of them or those that make most of the calls, and prints the chains. Links that could not
  // be used are added to `left`.
  void place(const std::vector<uint32_t>& links, bool all, std::vector<uint32_t>& left) {
    const double total = double(all ? 0 : calls_of(links));
    uint64_t sum = 0;
    for (const uint32_t l : links) {
      Link& link = links_[l];
      sum += link.calls;
      if (link.is_placed) continue;
      const bool is_rare = !all && double(sum) / total > kMaxCalls;
      if (is_rare || places_[link.callee].is_placed || places_[link.caller].is_placed || !join(link)) left.push_back(l);
    }
    print_chains(links);
    if (!all) return;
    for (const uint32_t l : links) {
      Place &caller = places_[links_[l].caller], &callee = places_[links_[l].callee];
      if (caller.is_placed || callee.is_placed) continue;
      caller.is_placed = true;
      print(links_[l].caller);
    }
  }

  void print_chains(const std::vector<uint32_t>& links) {
    for (const uint32_t l : links) {
      const Link& link = links_[l];
      if (places_[link.caller].is_placed || places_[link.callee].is_placed || places_[link.caller].is_alone()) continue;
      for (uint32_t f = end_of_chain(link.caller, &Place::previous).function; f != kNone; f = places_[f].next) {
        places_[f].is_placed = true;
        print(f);
      }
    }
  }

  struct End {
    uint32_t function;
    size_t distance;
  };
  End end_of_chain(uint32_t f, uint32_t Place::*direction) const {
    size_t distance = 0;
    for (; places_[f].*direction != kNone; f = places_[f].*direction) ++distance;
    return {f, distance};
  }

  // The end of the chain after a function, or if nothing is after it, the begin.
  uint32_t other_end(uint32_t f) const {
    return end_of_chain(f, places_[f].next != kNone ? &Place::next : &Place::previous).function;
  }

  // False if the link is to be tried later.
  bool join(Link& link) {
    uint32_t caller = link.caller, callee = link.callee;
    if (places_[caller].is_alone()) {
      const End begin = end_of_chain(callee, &Place::previous), end = end_of_chain(callee, &Place::next);
      callee = end.distance < begin.distance ? end.function : begin.function;
    } else if (places_[callee].is_alone()) {
      const End begin = end_of_chain(caller, &Place::previous), end = end_of_chain(caller, &Place::next);
      caller = begin.distance < end.distance ? begin.function : end.function;
    } else {
      return false;
    }
    if (other_end(caller) == callee && other_end(callee) == caller) return false;
    const bool goes_before =
        places_[caller].next != kNone || (places_[caller].previous == kNone && places_[callee].previous != kNone);
    const uint32_t first = goes_before ? callee : caller, second = goes_before ? caller : callee;
    if (places_[first].next != kNone || places_[second].previous != kNone) return true;  // and so it is lost
    places_[first].next = second;
    places_[second].previous = first;
    link.is_placed = true;
    return true;
  }

  const CallGraph& graph_;
  Output& out_;
  std::vector<Place> places_;  // by function
  std::vector<Link> links_;    // arcs, but for those from a function to itself
  std::vector<uint32_t> link_of_arc_;
};

}  // namespace

void print_gprof_function_order(const CallGraph& graph, Output& out) { Placement(graph, out).order_functions(); }

ObjectFiles::ObjectFiles(const std::vector<SymbolPlace>& places) {
  for (const SymbolPlace& place : places)
    entries_.push_back({place.file, place.symbol, entries_.empty() || entries_.back().file != place.file});
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.symbol < b.symbol; });
}

// Of several that have the same name, gprof takes the one that bsearch(3) finds.
const ObjectFiles::Entry* ObjectFiles::find(const std::string& symbol) const {
  for (size_t low = 0, high = entries_.size(); low < high;) {
    const size_t middle = (low + high) / 2;
    const int order = symbol.compare(entries_[middle].symbol);
    if (order == 0) return &entries_[middle];
    (order < 0 ? high : low) = order < 0 ? middle : middle + 1;
  }
  return nullptr;
}

void ObjectFiles::put_files_in_place(std::vector<Function>& functions) const {
  size_t kept = 0;
  for (size_t i = 0; i < functions.size(); ++i) {
    const Entry* entry = find(functions[i].name);
    if (entry && !entry->is_first) continue;
    if (kept != i) functions[kept] = std::move(functions[i]);
    if (entry) {
      functions[kept].name = entry->file;
      functions[kept].is_mapped = true;
    }
    ++kept;
  }
  const uint64_t end = functions.empty() ? 0 : functions.back().end;
  functions.resize(kept);
  for (size_t i = 0; i < kept; ++i) functions[i].end = i + 1 < kept ? functions[i + 1].address - 1 : end;
}

void ObjectFiles::print_order(const CallGraph& graph, Output& out) const {
  Placement(graph, out).order_files();
  std::set<std::string> rest;
  for (const Entry& entry : entries_) rest.insert(entry.file);
  for (uint32_t f = 0; f < graph.function_count; ++f)
    if (graph.functions[f].is_mapped) rest.erase(graph.functions[f].name);
  for (const std::string& file : rest) out.text(prof_text::printable(file) + "\n");
}

}  // namespace prof::gprof
