// The tree of calls of a run without hooks, from the chains of its samples (prof/sample/samples.h) and the counts of
// its calls.
//
// Times are those of samples: a context without any is not seen. Calls are known by call site, not by context. So the
// calls of a node are
//
//     exact, if the caller is itself called from one other function only, that one too, and so on, so that it has this
//     one context; and no calls of the function are through pointers;
//     else shared: what one function called another, as counted, among the contexts of the caller by their samples.
//     What was called through pointers is shared among callers: if each made calls in proportion to the samples that
//     they led to, it would have made so many; these, less those that are counted, and no more than it made calls
//     through pointers at all, are its part. That is an estimate, and is marked.
//
// A function that ended in a jump to another one has no frame any more, and is in no chain. Where it can only be one,
// it is put between its caller and the other, as it is with hooks.
//
// A call that was counted and of which there is no context is below the context of the caller that has most samples.
//
// Inlined functions are nodes without calls, below those that have their code; what they call is below them. Calls are
// counted by the function that has the code.

#ifndef PROF_MODEL_TREE_SAMPLED_CONTEXTS_H
#define PROF_MODEL_TREE_SAMPLED_CONTEXTS_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "prof/sample/samples.h"
#include "tree.h"

namespace prof {

// An instruction of a chain.
struct ChainPlace {
  uint32_t function = 0;  // that has the code
  uint32_t object = 0;    // index into FunctionTable::objects
  uint64_t address = 0;   // in the original, link-time; 0 if it is not known
  uint32_t inlined = 0;   // index into ChainFunctions::inlined
};

// The functions of chains.
struct ChainFunctions {
  std::vector<ChainPlace> by_node = {};  // of the chains
  uint32_t kernel = 0;                   // that which stands for what the kernel did
  // Functions that were inlined one into the other, the outermost first; the first of these is empty.
  std::vector<std::vector<uint32_t>> inlined = {{}};
  std::vector<bool> are_inlined = {};  // by function
  bool is_inlined(uint32_t function) const { return function < are_inlined.size() && are_inlined[function]; }
};

// What part of a function's samples is its own, and not that of counters in it.
struct OwnPart {
  double low = 1, likely = 1, high = 1;
};

struct SampleValue {
  double cycles = 0;              // that a sample stands for
  double weight = 1;              // how many came at once
  std::vector<OwnPart> own = {};  // by function; those that it does not have are all their own
  double all = HUGE_VAL;          // how many there are in all (sampled.h)

  // Sets the self time of one of these, of a function in which so many samples were taken.
  template <class Part>
  void set_self(double samples, uint32_t function, Part& part) const {
    const OwnPart its_own = function < own.size() ? own[function] : OwnPart();
    const double value = samples * cycles;
    part.self = uint64_t(std::llround(value * its_own.likely));
    part.self_variance = samples * weight * std::pow(cycles * its_own.likely, 2);
    part.self_range = {value * its_own.low, value * its_own.high};
  }

  // set_self gives variances that add up, as if each sample came by chance alone. But a sum of times has no sample that
  // others have: among `all`, its variance is less by the square of the sum over `all`. One that has all of them is
  // sure to within few.
  template <class Part>
  void correct_variances(Part& part) const {
    const double few = 2.25 * weight * cycles * cycles;  // with 95 %, 3 samples
    const auto correct = [&](uint64_t sum, double& variance) {
      const double square = double(sum) * double(sum);
      variance = std::max(variance - square * weight / all, few * square / std::pow(all * cycles, 2));
    };
    correct(part.self, part.self_variance);
    correct(part.total, part.total_variance);
  }

  // What a self time adds to the range of the total time of those that called it. Most of what counters make uncertain
  // is only moved from a function to one that calls it, or that it calls, and is in the total of both.
  template <class Part>
  static Range in_total(const Part& part) {
    constexpr double kNotMoved = 0.25;
    const double self = double(part.self);
    return {self - kNotMoved * (self - part.self_range.low), self};
  }

  // To be called when those that called the node have got their part of its total time: what was moved between it and
  // them is uncertain in its own.
  template <class Part>
  static void add_moved(Part& node) {
    const Range without = in_total(node);
    node.total_range.low += node.self_range.low - without.low;
    node.total_range.high += node.self_range.high - without.high;
  }
};

// What a function called another, by instructions that say what they call.
struct CountedArc {
  uint32_t caller = 0, callee = 0;
  uint64_t calls = 0;
  bool is_jump = false;  // at the end of the caller
};

// What was counted of calls, but for how often each function was called.
struct CountedCalls {
  const std::vector<CountedArc>& arcs;
  const std::vector<uint64_t>& indirect;  // by function: Recorded::indirect_calls
};

// A tree, and which of its nodes has the samples of each node of the chains: those in user code, and those in the
// kernel, which is 0 where there are none.
struct ChainTree {
  Tree tree;
  std::vector<uint32_t> user, kernel;
};

// `calls`: of each function, 0 of one whose calls are not known.
ChainTree tree_of_chains(const SampledChains& chains, const ChainFunctions& functions, const SampleValue& sample,
                         const CountedCalls& counted, const std::vector<uint64_t>& calls);

}  // namespace prof

#endif
