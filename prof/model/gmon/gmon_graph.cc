#include "gmon_graph.h"

#include <algorithm>

#include "prof/model/tree/call_cycles.h"
#include "prof/model/tree/tree.h"

namespace prof {

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
  const CallCycles found =
      find_call_cycles({uint32_t(functions_.size()), [&](uint32_t f) { return functions_[f].callees.size(); },
                        [&](uint32_t f, size_t i) { return functions_[f].callees[i].to; }});
  for (uint32_t f = 0; f < functions_.size(); ++f) {
    functions_[f].cycle = found.numbers[f] - 1;
    cycles_.resize(std::max(cycles_.size(), size_t(found.numbers[f])));
    cycles_[found.numbers[f] - 1].members.push_back(f);
  }
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
