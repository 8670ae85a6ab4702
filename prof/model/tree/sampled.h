// Times from samples of the unprofiled program (prof/sample/samples.h), and calls and contexts from a run of its copy.
//
// Samples say of which function they are, not in which context it was called. So the time of a function is spread over
// the nodes of the tree that are of it, by what the run of the copy measured in each of them, or by their calls where
// it measured nothing. Times include the cost of hooks there; what counts here is only their proportion within one
// function. Total times follow by addition. Of libraries, which have no nodes, there is self time only, and no total
// time includes it.
//
// If the samples have chains, and the copy had no hooks, contexts are those of the chains (sampled_contexts.h).
//
// How sure the time of a function is follows from the number n of its samples. How many there are in all, N, is no
// chance: one for each period that a processor ran the program. Chance decides which functions they are of, so n is
// binomial: Wilson's interval
//
//     (n + z^2/2 +- z sqrt(n (1 - n/N) + z^2/4)) / (1 + z^2/N)     with z = 1.96
//
// holds the true value in 95 of 100 runs, also when n is 0, and when it is N. N is by the kernel's accounts, as samples
// in the kernel may not be allowed. If samples come w at once, because a program that samples itself shares its
// processor with others, n / w are independent.

#ifndef PROF_MODEL_TREE_SAMPLED_H
#define PROF_MODEL_TREE_SAMPLED_H

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "histogram.h"
#include "prof/model/program/functions.h"
#include "prof/sample/samples.h"
#include "sampled_contexts.h"
#include "tree.h"

namespace prof {

// What a number of samples may stand for, in samples: the ends of the 95 % interval.
struct SampleRange {
  double low = 0, high = 0;
};
// Of samples that came `weight` at once, among `all`.
SampleRange range_of(uint64_t samples, double weight = 1, double all = HUGE_VAL);

// When samples were taken, as in SampleTimes, by nodes of the tree.
struct RunTimeline {
  struct Count {
    uint32_t slice = 0, thread = 0, node = 0;
    uint64_t samples = 0;
  };
  uint64_t slice = 0, length = 0;  // nanoseconds, of a slice and of the run; 0 if nothing is known
  std::vector<SampledThread> threads = {};
  std::vector<Count> counts = {};  // in order of their slices
};

struct SampledTimes {
  uint64_t period = 0;                      // nanoseconds that a sample stands for
  std::vector<uint64_t> samples = {};       // by function
  std::vector<bool> is_counted = {};        // by function: its calls are known
  uint64_t user = 0, kernel = 0, lost = 0;  // samples, as in Samples
  bool has_kernel = false;
  uint64_t user_time = 0;               // nanoseconds, as the kernel's accounts say
  double weight = 1;                    // how many samples came at once
  double all = HUGE_VAL;                // samples that there would be if all were taken in the kernel, too
  ChainFunctions chain_functions = {};  // empty without chains
  std::vector<OwnPart> own = {};        // by function; empty: all are their own
  bool are_of_copy = false;             // some were taken in a copy that profld made, not in the program itself
  RunTimeline timeline = {};            // empty without chains, and of a part of the contexts
  OwnPart own_part(size_t function) const { return function < own.size() ? own[function] : OwnPart(); }
  bool has_chains() const { return !chain_functions.by_node.empty(); }

  SampleRange chance(uint64_t of_samples) const { return range_of(of_samples, weight, all); }
  double seconds(double of_samples) const { return of_samples * double(period) / 1e9; }
};

// What the samples of a function may stand for, without those that were of its counters.
SampleRange range_of_function(const SampledTimes& times, size_t function);

// Samples of parts of functions, added up: of those of a line, of what was inlined.
class SampledPart {
 public:
  void add(const SampledTimes& times, uint32_t function, uint64_t samples);
  void add(const SampledPart& other);
  uint64_t samples() const { return samples_; }
  // What part of them is not that of counters.
  OwnPart own() const;
  // What they stand for, and may stand for, without those of counters.
  double likely() const { return own_.likely; }
  SampleRange range(const SampledTimes& times) const;

 private:
  uint64_t samples_ = 0;
  OwnPart own_ = {0, 0, 0};  // times samples
};

// Credits samples to the functions of a table whose program they are of, which gets those of libraries, and to their
// addresses in a histogram. `path` is that of the samples' file. What there is to tell of files without names is added
// to the remarks. Throws Error if the samples are not of that program.
SampledTimes credit(const Samples& samples, FunctionTable& functions, Histogram& histogram, const std::string& path,
                    std::vector<std::string>& remarks);

// Leaves out what counters took, if the samples are of a copy that has them. `hz`: cycles a second.
void leave_out_counters(const CounterCosts& costs, double hz, SampledTimes& times);

// Puts the times that the samples say in the place of those that are in a tree, with cycles that tick `hz` times a
// second, and returns the sums by function.
std::vector<FunctionSum> use_samples(const SampledTimes& times, double hz, Tree& tree);

// Makes the tree that of the samples' chains, and returns the sums by function. Their calls are those of the tree
// before, and `arcs` tells how many of them each function made; so nodes get theirs. Sets the timeline.
std::vector<FunctionSum> use_chains(const Samples& samples, double hz, const CountedCalls& counted, SampledTimes& times,
                                    Tree& tree);

// What to say if samples show much less time than the kernel's accounts; "" if they do not. A thread begins with a
// period of its own, so one that runs for less than that has no sample.
std::string time_without_samples(const Samples& samples);

// What to say of chains that are not whole; "" if nearly all are.
std::string chains_cut_off(const SampledChains& chains);

// A function without samples may have had some: the variance makes with_chance (probe_cost.h) say so many as the end of
// a score interval.
void make_zeros_uncertain(std::vector<FunctionSum>& sums, double cycles_of_sample);

// What to say about functions that have samples but no calls although these are counted; "" if there are none.
std::string impossible_samples(const SampledTimes& times, const std::vector<FunctionSum>& sums,
                               const std::vector<Function>& functions);

}  // namespace prof

#endif
