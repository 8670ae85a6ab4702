// What exports write of a profile: a list of contexts, each with its own calls and times; or, in formats without
// contexts, functions and the calls between them.

#ifndef PROF_EXPORT_CONTEXTS_H
#define PROF_EXPORT_CONTEXTS_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "prof/model/analysis/analysis.h"

namespace prof {

// Viewers add up themselves: a context has what it did itself, and a function's total is the sum of the contexts below
// it. The list is in the order of a walk through the tree, each context directly before those below it, so a level is
// all that is needed to know the callers.
//
// Rounding. Times are cycles here and nanoseconds there. If each context were rounded by itself, the sum of a function
// with a thousand contexts would be off by many nanoseconds. So it is the running sum of a function that is rounded,
// and a context gets what that grew by: the sum over a function's contexts is its time to the nanosecond.
//
// Depth. The tree may be a million levels deep, and most formats write all callers of each context: a terabyte. What is
// deeper than kDeepest levels is summed up by function, and stands below a context "..." at that level.

// What is known of each context. `time` is elapsed time of two runs, and what PROFTYPE says else; `processor`, of two
// runs, that of the run with times on a processor.
enum class Measure { calls, time, processor, waiting };

constexpr size_t kMaxMeasures = 3;
using Values = std::array<uint64_t, kMaxMeasures>;  // as many of them as there are measures

// Those that a profile has; the first is what its views sort by.
std::vector<Measure> measures_of(const Analysis& analysis);

// "calls", "time", "elapsed", "cpu" or "waiting".
const char* name_of(Measure measure, const Analysis& analysis);

// Calls or cycles of a node itself.
uint64_t self_of(const Analysis& analysis, Measure measure, size_t node);

// By function: calls or cycles that none of its nodes has. They are samples of functions of which no calls are known.
std::vector<Values> self_without_nodes(const Analysis& analysis, const std::vector<Measure>& measures);

uint64_t nanoseconds(const Analysis& analysis, uint64_t cycles);

struct Context {
  static constexpr uint32_t kBetween = UINT32_MAX;  // a function: "...", for levels that are left out

  uint32_t function;
  uint32_t level;  // 0: called from outside
  Values self;     // calls, or nanoseconds
};

constexpr uint32_t kDeepest = 500;
constexpr const char* kNameBetween = "...";

std::vector<Context> contexts_of(const Analysis& analysis, const std::vector<Measure>& measures);

// A function's name as it is printed, with its library: "inflate [libz.so.1]".
std::string printed_name(const Analysis& analysis, uint32_t function);

// Whose calls a part is of: "process 12, thread 13 worker"; "" if it is of all.
std::string part_name(const Analysis& part);

// Functions and the calls between them, for formats without contexts: the tree of calls, folded up.
//
// A context is lost here: what an arc (a caller and a function called) costs is the sum over all places in the tree. So
// that these sums are totals of functions again, a place counts only if the function called is not called further out
// already. Then the arcs that lead to a function have its total, recursion or not. Where functions call each other in a
// cycle, a function's own time and the arcs that leave it are more than its total: part of it is in both.

struct Arc {
  static constexpr uint32_t kOutside = UINT32_MAX;  // a caller: code that is not profiled

  uint32_t caller, callee;  // functions
  uint64_t calls;
  Values inclusive;  // calls or cycles, with what the function called called
};

struct CallGraph {
  std::vector<Values> self, total;  // by function; calls or cycles
  std::vector<Arc> arcs;            // by caller, and then by function called; kOutside comes last
  Values whole = {};                // the sum of all `self`
};

CallGraph call_graph_of(const Analysis& analysis, const std::vector<Measure>& measures);

}  // namespace prof

#endif
