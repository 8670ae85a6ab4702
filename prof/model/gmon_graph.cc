#include "gmon_graph.h"

#include <algorithm>

#include "tree.h"

namespace prof {

namespace {

// Tarjan's algorithm (SIAM Journal on Computing 1, 1972), with a stack of its own: chains of calls may be long.
class CycleFinder {
 public:
  explicit CycleFinder(const std::vector<GmonGraph::Function>& functions)
      : functions_(functions), number_(functions.size()), lowest_(functions.size()), is_open_(functions.size()) {}

  // Calls `found` with the members of each cycle, callees before their callers.
  template <class Found>
  void find(const Found& found) {
    for (uint32_t f = 0; f < functions_.size(); ++f) {
      if (number_[f] != 0) continue;
      enter(f);
      while (!path_.empty()) step(found);
    }
  }

 private:
  struct Place {
    uint32_t function;
    size_t next = 0;  // of its callees
  };

  void enter(uint32_t function) {
    number_[function] = lowest_[function] = ++entered_;
    is_open_[function] = true;
    open_.push_back(function);
    path_.push_back({function});
  }

  template <class Found>
  void step(const Found& found) {
    Place& place = path_.back();
    const uint32_t f = place.function;
    if (place.next < functions_[f].callees.size()) {
      const uint32_t to = functions_[f].callees[place.next].to;
      ++place.next;
      if (number_[to] == 0) {
        enter(to);
      } else if (is_open_[to]) {
        lowest_[f] = std::min(lowest_[f], number_[to]);
      }
      return;
    }
    path_.pop_back();
    if (!path_.empty()) {
      uint32_t& lowest = lowest_[path_.back().function];
      lowest = std::min(lowest, lowest_[f]);
    }
    if (lowest_[f] != number_[f]) return;
    std::vector<uint32_t> members;
    do {
      members.push_back(open_.back());
      is_open_[open_.back()] = false;
      open_.pop_back();
    } while (members.back() != f);
    std::ranges::sort(members);
    found(std::move(members));
  }

  const std::vector<GmonGraph::Function>& functions_;
  std::vector<uint32_t> number_, lowest_;  // by function; numbers in the order of the walk, 0: not yet entered
  std::vector<bool> is_open_;              // its cycle is not complete
  std::vector<uint32_t> open_;
  std::vector<Place> path_;
  uint32_t entered_ = 0;
};

}  // namespace

void GmonGraph::add_calls(uint32_t from, uint32_t to, uint64_t calls) {
  if (calls == 0) return;
  functions_[from].callees.push_back({to, calls});
  add_up(functions_[to].calls, calls);
}

void GmonGraph::add_calls_from_outside(uint32_t to, uint64_t calls) {
  add_up(functions_[to].calls_from_outside, calls);
  add_up(functions_[to].calls, calls);
}

void GmonGraph::finish() {
  sum_up_arcs();
  find_cycles();
  add_totals();
}

void GmonGraph::sum_up_arcs() {
  for (Function& f : functions_) {
    std::ranges::sort(f.callees, {}, &GmonCall::to);
    std::vector<GmonCall> sums;
    for (const GmonCall& call : f.callees) {
      if (!sums.empty() && sums.back().to == call.to) {
        add_up(sums.back().calls, call.calls);
      } else {
        sums.push_back(call);
      }
    }
    f.callees = std::move(sums);
  }
}

void GmonGraph::find_cycles() {
  CycleFinder(functions_).find([&](std::vector<uint32_t> members) {
    for (const uint32_t f : members) functions_[f].cycle = uint32_t(cycles_.size());
    cycles_.emplace_back().members = std::move(members);
  });
  for (const Function& f : functions_) {
    add_up(cycles_[f.cycle].calls, f.calls_from_outside);
    for (const GmonCall& call : f.callees) {
      Cycle& called = cycles_[functions_[call.to].cycle];
      if (functions_[call.to].cycle == f.cycle) {
        ++called.inner_arcs;
      } else {
        add_up(called.calls, call.calls);
      }
    }
  }
}

void GmonGraph::add_totals() {
  for (Cycle& cycle : cycles_) {
    for (const uint32_t member : cycle.members) {
      Function& f = functions_[member];
      f.total = f.self;
      for (const GmonCall& call : f.callees) {
        const Cycle& called = cycle_of(call.to);
        if (&called != &cycle) f.total.add(called.total, called.part(double(call.calls)));
      }
      cycle.total.add(f.total);
    }
  }
}

}  // namespace prof
