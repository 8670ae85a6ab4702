#include "sampled.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "linker-rewrite/text/numbers.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"

namespace prof {

namespace {

constexpr uint64_t kProgram = 0;    // index of the program among the objects
constexpr uint64_t kNoFigure = 3;   // samples: fewer are within the error of each figure
constexpr uint64_t kTellFrom = 10;  // samples: fewer may be of code between functions
constexpr double kMostOfAll = 0.3;  // of the time with counters, what these took nobody knows where

class Crediting {
 public:
  Crediting(const Samples& samples, FunctionTable& functions, Histogram& histogram, const std::string& path,
            std::vector<std::string>& remarks)
      : samples_(samples), functions_(functions), histogram_(histogram), path_(path), remarks_(remarks) {}

  SampledTimes credit_all() {
    const std::vector<ChainNode>& chains = samples_.chains.nodes();
    for (size_t i = 1; i < chains.size(); ++i) in_chains_[chains[i].place.module][chains[i].place.offset] = {};
    for (uint32_t m = 0; m < samples_.modules.size(); ++m) {
      const SampledModule& module = samples_.modules[m];
      if (module.is_file()) {
        credit_file(module, in_chains_[m]);
      } else {
        credit_to(functions_.nameless_code(module.path), module, in_chains_[m]);
      }
    }
    if (samples_.kernel) add(times_.chain_functions.kernel = functions_.nameless_code("[kernel]"), samples_.kernel);
    if (!samples_.chains.is_empty()) times_.chain_functions.by_node.resize(chains.size());
    for (size_t i = 1; i < chains.size(); ++i)
      times_.chain_functions.by_node[i] = in_chains_[chains[i].place.module][chains[i].place.offset];
    if (!has_program_) refuse_other_program();
    times_.samples.resize(functions_.functions().size());
    for (const Function& f : functions_.functions()) {
      times_.is_counted.push_back(f.is_import || functions_.objects()[f.object].is_counted(f.address));
    }
    times_.period = samples_.period;
    times_.user = samples_.user;
    times_.kernel = samples_.kernel;
    times_.lost = samples_.lost;
    times_.has_kernel = samples_.has_kernel;
    times_.user_time = samples_.user_time;
    times_.weight = samples_.weight;
    times_.all = std::max({double(samples_.user + samples_.kernel), 1.0,
                           double(samples_.user_time + samples_.system_time) / double(samples_.period)});
    return std::move(times_);
  }

 private:
  using PlacesAt = std::map<uint64_t, ChainPlace>;  // by offset in a file, of what is in chains

  // All of a module to one function.
  void credit_to(uint32_t function, const SampledModule& module, PlacesAt& in_chains) {
    for (const auto& [offset, count] : module.counts) add(function, count);
    for (auto& [offset, at] : in_chains) at = {function, functions_.functions()[function].object};
  }

  void add(uint32_t function, uint64_t count) {
    if (function >= times_.samples.size()) times_.samples.resize(function + 1);
    times_.samples[function] += count;
  }

  bool is_program(const SampledModule& module) const {
    const std::string& id = functions_.program().original_build_id();
    return id.empty() || module.build_id.empty() ? module.path == samples_.program : module.build_id == id;
  }

  // The file of a module, as it was when the samples were taken: itself, or, of the copy that ran, what the profile
  // keeps of it. Null if it is gone. `opened` keeps what had to be opened.
  const ElfFile* open(const SampledModule& module, std::optional<ElfFile>& opened) const {
    const std::vector<ElfFile>& of_program = functions_.program().files();
    if (!of_program.empty() && of_program[0].is_rewritten() && of_program[0].build_id() == module.build_id)
      return of_program.data();
    try {
      opened.emplace(module.path);
      if (opened->build_id() == module.build_id) return &*opened;
      remarks_.push_back(
          module.path +
          ": has changed since samples were taken, so its functions have no names; run the program again");
    } catch (const Error& e) {
      remarks_.push_back(std::string(e.what()) + "; its functions have no names");
    }
    return nullptr;
  }

  void credit_file(const SampledModule& module, PlacesAt& in_chains) {
    std::optional<ElfFile> opened;
    const ElfFile* file = open(module, opened);
    const bool is_copy = file && file->is_rewritten() && !file->original_build_id().empty() &&
                         file->original_build_id() == functions_.program().original_build_id();
    const bool is_the_program = is_copy || is_program(module);
    has_program_ = has_program_ || is_the_program;
    times_.are_of_copy = times_.are_of_copy || is_copy;
    if (!file && !is_the_program) return credit_to(functions_.nameless_code(module.path), module, in_chains);
    const uint32_t object =
        is_the_program ? uint32_t(kProgram) : functions_.library({module.path, module.build_id, 0, 0, 0});
    std::optional<CopySteps> steps;  // of a module that may be a copy that profld made
    if (file) steps.emplace(*file);
    auto place_at = [&](uint64_t offset) {
      ChainPlace place = {.object = object};
      const std::optional<uint64_t> loaded = file ? file->address_at(offset) : std::nullopt;
      if (loaded) place.address = steps->original(*loaded);
      const std::optional<uint64_t> entry =
          loaded ? functions_.objects()[object].entry_of_original(place.address) : std::nullopt;
      place.function = entry ? functions_.at(object, *entry) : functions_.unknown_function(object);
      return place;
    };
    for (const auto& [offset, count] : module.counts) {
      const ChainPlace place = place_at(offset);
      add(place.function, count);
      if (place.address != 0) histogram_.add(object, place.address, count);
    }
    for (auto& [offset, place] : in_chains) place = place_at(offset);
  }

  void refuse_other_program() const {
    // A program that was too short for a sample is in no module.
    const std::string& id = functions_.program().original_build_id();
    if (id.empty()) return;
    const std::string sampled = build_id_of(samples_.program);
    if (sampled.empty() || sampled == id) return;
    throw Error(path_ + ": is of another program than the profile: build-id " + build_id_text(sampled) + " of " +
                samples_.program + ", not " + build_id_text(id) +
                "; give the file of samples that belongs to the profile");
  }

  const Samples& samples_;
  FunctionTable& functions_;
  Histogram& histogram_;
  const std::string& path_;
  std::vector<std::string>& remarks_;
  SampledTimes times_;
  std::map<uint32_t, PlacesAt> in_chains_;  // by module
  bool has_program_ = false;
};

// What the time of a node weighs among those of its function.
double weight(const CallNode& node, bool by_calls) { return double(by_calls ? node.calls : node.self); }

}  // namespace

SampleRange range_of(uint64_t samples, double weight, double all) {
  constexpr double z = 1.96;
  const double n = double(samples) / weight, part = double(samples) / all, shrunk = weight / (1 + z * z * weight / all);
  const double middle = n + z * z / 2, half = z * std::sqrt(std::max(n * (1 - part), 0.0) + z * z / 4);
  return {std::max(middle - half, 0.0) * shrunk, (middle + half) * shrunk};
}

namespace {

SampleRange range_of_own(const SampledTimes& times, uint64_t samples, const OwnPart& own) {
  const SampleRange chance = times.chance(samples);
  return {std::max(chance.low * own.likely - double(samples) * (own.likely - own.low), 0.0),
          chance.high * own.likely + double(samples) * (own.high - own.likely)};
}

}  // namespace

SampleRange range_of_function(const SampledTimes& times, size_t function) {
  return range_of_own(times, times.samples[function], times.own_part(function));
}

void SampledPart::add(const SampledTimes& times, uint32_t function, uint64_t samples) {
  const OwnPart own = times.own_part(function);
  samples_ += samples;
  own_.low += own.low * double(samples);
  own_.likely += own.likely * double(samples);
  own_.high += own.high * double(samples);
}

void SampledPart::add(const SampledPart& other) {
  samples_ += other.samples_;
  own_.low += other.own_.low;
  own_.likely += other.own_.likely;
  own_.high += other.own_.high;
}

OwnPart SampledPart::own() const {
  if (samples_ == 0) return {};
  const double all = double(samples_);
  return {own_.low / all, own_.likely / all, own_.high / all};
}

SampleRange SampledPart::range(const SampledTimes& times) const { return range_of_own(times, samples_, own()); }

SampledTimes credit(const Samples& samples, FunctionTable& functions, Histogram& histogram, const std::string& path,
                    std::vector<std::string>& remarks) {
  return Crediting(samples, functions, histogram, path, remarks).credit_all();
}

namespace {

SampleValue value_of(const SampledTimes& times, double hz) {
  return {double(times.period) * 1e-9 * hz, times.weight, times.own, times.all};
}

// To be called when all is added up.
void correct_variances(const SampleValue& value, Tree& tree, std::vector<FunctionSum>& sums) {
  for (CallNode& node : tree.nodes) value.correct_variances(node);
  for (FunctionSum& sum : sums) value.correct_variances(sum);
}

}  // namespace

void leave_out_counters(const CounterCosts& costs, double hz, SampledTimes& times) {
  if (!times.are_of_copy) return;
  const std::vector<UncertainCost>& own = costs.by_function;
  times.own.assign(own.size(), {});
  const size_t functions = std::min(own.size(), times.samples.size());
  const auto cycles_of = [&](size_t f) { return times.seconds(double(times.samples[f])) * hz; };
  double counted = 0;
  for (size_t f = 0; f < functions; ++f)
    if (own[f].high > 0) counted += cycles_of(f);
  const double of_all = counted > 0 ? std::min(costs.of_all / counted, kMostOfAll) : 0;
  for (size_t f = 0; f < functions; ++f) {
    const double all = cycles_of(f);
    if (all <= 0) continue;
    const auto without = [&](double part) { return std::max(1 - part, 0.0); };  // they may have more than all
    const double likely = own[f].likely / all + (own[f].high > 0 ? of_all : 0);
    times.own[f] = {without(std::max(own[f].high / all, likely)), without(likely), without(own[f].low / all)};
  }
}

std::vector<FunctionSum> use_samples(const SampledTimes& times, double hz, Tree& tree) {
  const size_t functions = times.samples.size();
  std::vector<double> measured(functions), calls(functions);
  for (size_t i = 1; i < tree.nodes.size(); ++i) {
    measured[tree.nodes[i].function] += double(tree.nodes[i].self);
    calls[tree.nodes[i].function] += double(tree.nodes[i].calls);
  }
  const SampleValue value = value_of(times, hz);
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    CallNode& node = tree.nodes[i];
    double samples = 0;
    if (i != 0) {
      const bool by_calls = measured[node.function] <= 0;
      const double all = by_calls ? calls[node.function] : measured[node.function];
      if (all > 0) samples = double(times.samples[node.function]) * weight(node, by_calls) / all;
    }
    value.set_self(samples, node.function, node);
    node.total = node.self;
    node.total_variance = node.self_variance;
    node.total_range = SampleValue::in_total(node);
    node.self_probe = node.total_probe = 0;
    node.has_doubtful_self = node.has_doubtful_total = false;
  }
  for (size_t i = tree.nodes.size(); i-- > 1;) {
    CallNode& parent = tree.nodes[tree.nodes[i].parent];
    parent.total += tree.nodes[i].total;
    parent.total_variance += tree.nodes[i].total_variance;
    parent.total_range.add(tree.nodes[i].total_range);
    SampleValue::add_moved(tree.nodes[i]);
  }
  std::vector<FunctionSum> sums = sum_functions(tree, functions);
  for (size_t f = 0; f < functions; ++f) {
    value.set_self(double(times.samples[f]), uint32_t(f), sums[f]);
    if (measured[f] > 0 || calls[f] > 0) continue;
    sums[f].total = sums[f].self;
    sums[f].total_variance = sums[f].self_variance;
    sums[f].total_range = sums[f].self_range;
  }
  correct_variances(value, tree, sums);
  return sums;
}

namespace {

RunTimeline timeline_of(const Samples& samples, const ChainTree& tree) {
  RunTimeline timeline = {samples.times.slice, samples.times.length, samples.threads};
  for (const TimedSamples& t : samples.times.counts)
    timeline.counts.push_back({t.slice, t.thread, (t.in_kernel ? tree.kernel : tree.user)[t.chain], t.samples});
  return timeline;
}

}  // namespace

std::vector<FunctionSum> use_chains(const Samples& samples, double hz, const CountedCalls& counted, SampledTimes& times,
                                    Tree& tree) {
  const size_t functions = times.samples.size();
  std::vector<uint64_t> calls;
  for (const FunctionSum& sum : sum_functions(tree, functions)) calls.push_back(sum.calls);
  const SampleValue value = value_of(times, hz);
  ChainTree of_chains = tree_of_chains(samples.chains, times.chain_functions, value, counted, calls);
  times.timeline = timeline_of(samples, of_chains);
  tree = std::move(of_chains.tree);
  std::vector<FunctionSum> sums = sum_functions(tree, functions);
  for (size_t f = 0; f < functions; ++f) {
    sums[f].calls = calls[f];
    sums[f].has_estimated_calls = false;
  }
  correct_variances(value, tree, sums);
  return sums;
}

std::string time_without_samples(const Samples& samples) {
  constexpr double kNearlyAll = 0.8, kWorthTelling = 0.05;  // of the time; seconds
  const double sampled = double(samples.user) * double(samples.period) / 1e9, all = double(samples.user_time) / 1e9;
  if (sampled >= kNearlyAll * all || all - sampled < kWorthTelling) return "";
  char text[200];
  std::snprintf(
      text, sizeof text,
      "only %.0f %% of the time in user code has samples: threads and processes that ran for less than %.2g ms "
      "have none, and the times of their functions are too small",
      100 * sampled / all, double(samples.period) * samples.weight / 1e6);
  return text;
}

std::string chains_cut_off(const SampledChains& chains) {
  uint64_t all = 0, others = 0;
  std::string reasons;
  for (unsigned i = 0; i < kChainEnds; ++i) {
    const uint64_t n = chains.ended(ChainEnd(i));
    all += n;
    if (ChainEnd(i) == ChainEnd::whole || n == 0) continue;
    others += n;
    reasons += (reasons.empty() ? "" : ", ") + std::to_string(n) + " " + text_of(ChainEnd(i));
  }
  if (others * 1000 <= all || others < kNoFigure) return "";
  return "the callers of " + std::to_string(others) + " of " + prof_text::count_of(all, "sample") +
         " are known only in part and begin at [unknown]: " + reasons;
}

void make_zeros_uncertain(std::vector<FunctionSum>& sums, double cycles_of_sample) {
  const double variance = std::pow(1.96 * cycles_of_sample, 2);
  for (FunctionSum& sum : sums) {
    if (sum.self_variance == 0) sum.self_variance = variance;
    if (sum.total_variance == 0) sum.total_variance = variance;
  }
}

std::string impossible_samples(const SampledTimes& times, const std::vector<FunctionSum>& sums,
                               const std::vector<Function>& functions) {
  size_t impossible = 0, example = 0;
  for (size_t f = 0; f < functions.size(); ++f) {
    if (!times.is_counted[f] || sums[f].calls > 0 || times.samples[f] < kTellFrom) continue;
    if (impossible++ == 0 || times.samples[f] > times.samples[example]) example = f;
  }
  if (impossible == 0) return "";
  return prof_text::count_of(impossible, "function has", "functions have") +
         " samples in the first run but no calls in the second (" + functions[example].name + ": " +
         std::to_string(times.samples[example]) + " samples): the program did not do the same twice";
}

}  // namespace prof
