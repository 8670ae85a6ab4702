// The functions of a gmon.out, and how often each called which: a graph, without contexts. And total times as gprof
// makes them of it.
//
// A gmon.out does not say how long the calls of a function from each of its callers took. gprof takes them all for
// alike: a caller with a third of the calls has a third of the time. Functions that call each other, directly or
// through others, are a cycle; within one that rule has no beginning, so a cycle is taken as a whole: its calls are
// those that come into it, its time is that of all its members, and the callers share that. A function that is in no
// cycle with others is a cycle by itself here.

#ifndef PROF_MODEL_GMON_GMON_GRAPH_H
#define PROF_MODEL_GMON_GMON_GRAPH_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "prof/model/tree/tree.h"

namespace prof {

// A time and the variance of its estimate; nanoseconds, and their squares.
struct GmonTime {
  double time = 0, variance = 0;

  void add(const GmonTime& other, double part = 1) { time += other.time * part, variance += other.variance * part; }
};

struct GmonCall {
  uint32_t to = 0;
  uint64_t calls = 0;  // more than 0
};

class GmonGraph {
 public:
  struct Function {
    GmonTime self, total;
    uint64_t calls = 0;               // all, whoever made them
    uint64_t calls_from_outside = 0;  // made by what is no function of the graph
    std::vector<GmonCall> callees;    // one for each, itself maybe; in order of their numbers
    uint32_t cycle = 0;
  };
  struct Cycle {
    std::vector<uint32_t> members;  // in ascending order
    uint64_t calls = 0;             // from other functions, or from outside
    GmonTime total;
    size_t inner_arcs = 0;  // how many functions its members call in it, summed up

    // The part of its calls, and so of its time, that so many of them are.
    double part(double n) const { return calls > 0 ? n / double(calls) : 0; }
  };

  explicit GmonGraph(size_t functions) : functions_(functions) {}

  void add_self(uint32_t function, const GmonTime& time) { functions_[function].self.add(time); }
  void add_calls(uint32_t from, uint32_t to, uint64_t calls);
  void add_calls_from_outside(uint32_t to, uint64_t calls);

  // Once, when all is added: finds cycles and totals.
  void finish();

  const std::vector<Function>& functions() const { return functions_; }
  // Callees before their callers.
  const std::vector<Cycle>& cycles() const { return cycles_; }
  const Cycle& cycle_of(uint32_t function) const { return cycles_[functions_[function].cycle]; }

 private:
  void sum_up_arcs();
  void find_cycles();
  void add_totals();

  std::vector<Function> functions_;
  std::vector<Cycle> cycles_;
};

// A tree of calls made of a graph without contexts: the graph unfolded from the functions that nobody called.
//
// What a function did is shared among the contexts that it was called in by the numbers of calls that led there, as
// gprof shares it among callers (gmon_graph.h). The shares are rounded so that calls and times of all contexts of a
// function add up to its own. A cycle is unfolded once where it is entered: each member below the first that leads to
// it, and further calls within it as nodes that have calls, and neither time nor callees.
//
// A graph of n functions may have 2^n contexts. So those with most time are made first, and when there are enough, what
// is left of each function is one node at the outermost level: as the runtime folds calls for which there is no room.

struct UnfoldedTree {
  Tree tree;            // cycles are nanoseconds
  uint64_t folded = 0;  // calls of a function, in a context, that are at the outermost level instead
};

// Of a graph that is finished. `most_contexts`: about how many nodes are enough.
UnfoldedTree unfold(const GmonGraph& graph, size_t most_contexts);

}  // namespace prof

#endif
