#include "difference.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "linker-rewrite/names/parts.h"
#include "matching.h"
#include "prof/read/error.h"

namespace prof {

void Measurements::add(double x) {
  if (added_++ == 0) first_ = x;
  sum_ += x - first_;
  squares_ += (x - first_) * (x - first_);
}

double Measurements::mean(size_t runs) const { return runs == 0 ? 0 : (first_ * double(added_) + sum_) / double(runs); }

double Measurements::variance(size_t runs) const {
  if (runs < 2) return 0;
  const double n = double(runs), zeros = double(runs - std::min(added_, runs));
  const double sum = sum_ - zeros * first_, squares = squares_ + zeros * first_ * first_;
  return std::max(squares - sum * sum / n, 0.0) / (n - 1);
}

namespace {

// The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. Converges in a few dozen
// steps for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  auto nonzero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / nonzero(1 - (a + b) * x / (a + 1)), value = d;
  for (int step = 1; step < 500; ++step) {
    const double m = step;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    for (const double factor : {even, odd}) {
      d = 1 / nonzero(1 + factor * d);
      c = nonzero(1 + factor / c);
      value *= c * d;
    }
    if (std::abs(c * d - 1) < 1e-14) break;
  }
  return value;
}

// The regularized incomplete beta function.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double log_factor = std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x);
  const bool is_low = x < (a + 1) / (a + b + 2);  // else the fraction of the other tail converges
  const double tail = std::exp(log_factor) * (is_low ? beta_fraction(a, b, x) / a : beta_fraction(b, a, 1 - x) / b);
  return is_low ? tail : 1 - tail;
}

}  // namespace

double chance_of_t(double t, double degrees) {
  return std::clamp(incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)), 0.0, 1.0);
}

namespace {

// What the difference of two means is off by if it is chance alone: its standard error, known with so many degrees of
// freedom.
struct StandardError {
  double size = 0, degrees = 1;
};

std::optional<StandardError> error_of_difference(const Sample& a, const Sample& b) {
  if (a.runs < 2 && b.runs < 2) return {};
  const double variance_a = a.runs < 2 ? b.variance : a.variance, variance_b = b.runs < 2 ? a.variance : b.variance;
  const double share_a = variance_a / double(a.runs), share_b = variance_b / double(b.runs), all = share_a + share_b;
  if (all <= 0) return StandardError();
  double degrees = double(std::max(a.runs, b.runs) - 1);
  if (a.runs > 1 && b.runs > 1)
    degrees =
        std::max(1.0, all * all / (share_a * share_a / double(a.runs - 1) + share_b * share_b / double(b.runs - 1)));
  return StandardError{std::sqrt(all), degrees};
}

// The t that is as far from 0 as this by a chance of kGreatestP.
double greatest_t(size_t degrees) {
  double low = 1, high = 16;  // 12.7 of one degree, 1.96 of many
  for (int step = 0; step < 50; ++step) {
    const double middle = (low + high) / 2;
    (chance_of_t(middle, double(degrees)) > kGreatestP ? low : high) = middle;
  }
  return high;
}

}  // namespace

std::optional<double> chance_of_difference(const Sample& a, const Sample& b) {
  const std::optional<StandardError> error = error_of_difference(a, b);
  if (!error) return {};
  const double difference = a.mean - b.mean;
  if (error->size <= 0) return difference == 0 ? 1 : 0;
  return chance_of_t(difference / error->size, error->degrees);
}

std::optional<double> greatest_by_chance(const Sample& a, const Sample& b) {
  constexpr size_t kMany = 100;                      // with more degrees of freedom, t hardly gets less
  static std::vector<double> by_degrees(kMany + 1);  // 0: not computed yet
  const std::optional<StandardError> error = error_of_difference(a, b);
  if (!error) return {};
  double& t = by_degrees[size_t(std::min(error->degrees, double(kMany)))];
  if (t == 0) t = greatest_t(size_t(std::min(error->degrees, double(kMany))));
  return t * error->size;
}

namespace {

// What part of the difference in subtracted cost the error may be (probe_cost.h).
constexpr double kSelfError = 1, kTotalError = 0.4;
// A time is not better known than to this part of it, even where nothing was subtracted.
constexpr double kElsewhere = 0.05;

void add_range(Range& to, const Range& cycles, double variance, double scale) {
  const Range range = with_chance(cycles, variance);
  to.add({range.low * scale, range.high * scale});
}

template <class Sum>
void add_figures(Figures& to, const Sum& sum, double scale) {
  to.calls.add(double(sum.calls));
  to.self.add(double(sum.self) * scale);
  to.total.add(double(sum.total) * scale);
  to.self_waiting.add(double(sum.self_waiting) * scale);
  add_range(to.self_range, sum.self_range, sum.self_variance, scale);
  add_range(to.total_range, sum.total_range, sum.total_variance, scale);
  to.self_probe += double(sum.self_probe) * scale;
  to.total_probe += double(sum.total_probe) * scale;
  to.has_doubtful_calls |= sum.has_doubtful_calls;
  to.has_doubtful_self |= sum.has_doubtful_self;
  to.has_doubtful_total |= sum.has_doubtful_total;
}

// A time of one side: the mean of its runs.
struct Time {
  Sample sample;
  Range range;
  double probe = 0;  // what was subtracted

  Time operator*(double factor) const {
    return {{sample.mean * factor, sample.variance * factor * factor, sample.runs},
            {range.low * factor, range.high * factor},
            probe * factor};
  }
};

Sample sample_of(const Measurements& figures, size_t runs) {
  return {figures.mean(runs), figures.variance(runs), runs};
}

Time time_of(const Measurements& figures, const Range& range, double probe, size_t runs) {
  const double n = double(runs), mean = figures.mean(runs);
  return {sample_of(figures, runs),
          {std::min(range.low / n, mean * (1 - kElsewhere)), std::max(range.high / n, mean * (1 + kElsewhere))},
          probe / n};
}

// `error`: what part of the difference in subtracted cost may be wrong.
Change change_of(const Time& a, const Time& b, double error, bool is_doubtful) {
  Change change{a.sample.mean, b.sample.mean, chance_of_difference(a.sample, b.sample)};
  if (const std::optional<double> by_chance = greatest_by_chance(a.sample, b.sample)) {
    const double in_hooks = error * std::abs(a.probe - b.probe), off = std::max(*by_chance, in_hooks);
    change.is_known = *change.p < kGreatestP && std::abs(change.amount()) > in_hooks;
    change.range = {change.amount() - off, change.amount() + off};
  } else {
    change.is_known = a.range.high < b.range.low || b.range.high < a.range.low;
    change.range = {b.range.low - a.range.high, b.range.high - a.range.low};
  }
  if (is_doubtful) {
    change.is_known = false;
    change.range = {-HUGE_VAL, HUGE_VAL};
  }
  return change;
}

}  // namespace

void Figures::add(const FunctionSum& sum, double seconds_of_cycle) { add_figures(*this, sum, seconds_of_cycle); }
void Figures::add(const CallNode& node, double seconds_of_cycle) { add_figures(*this, node, seconds_of_cycle); }

Change Difference::calls(const std::array<Figures, 2>& f) const {
  const Sample a = sample_of(f[0].calls, sides[0].runs), b = sample_of(f[1].calls, sides[1].runs);
  Change change{a.mean, b.mean, {}, a.mean != b.mean, {}};
  if (a.variance > 0 || b.variance > 0) {
    change.p = chance_of_difference(a, b);
    change.is_known = change.is_known && change.p && *change.p < kGreatestP;
  }
  if (f[0].has_doubtful_calls || f[1].has_doubtful_calls) change.is_known = false;
  return change;
}

Change Difference::self(const std::array<Figures, 2>& f) const {
  return change_of(time_of(f[0].self, f[0].self_range, f[0].self_probe, sides[0].runs),
                   time_of(f[1].self, f[1].self_range, f[1].self_probe, sides[1].runs), kSelfError,
                   f[0].has_doubtful_self || f[1].has_doubtful_self);
}

Change Difference::total(const std::array<Figures, 2>& f) const {
  return change_of(time_of(f[0].total, f[0].total_range, f[0].total_probe, sides[0].runs),
                   time_of(f[1].total, f[1].total_range, f[1].total_probe, sides[1].runs), kTotalError,
                   f[0].has_doubtful_total || f[1].has_doubtful_total);
}

Change Difference::self_waiting(const std::array<Figures, 2>& f) const {
  // Nothing is subtracted here, and there are no ranges: how long something waits in one run says little of the next.
  const Sample a = sample_of(f[0].self_waiting, sides[0].runs), b = sample_of(f[1].self_waiting, sides[1].runs);
  Change change{a.mean, b.mean, chance_of_difference(a, b)};
  change.is_known = change.p && *change.p < kGreatestP && !f[0].has_doubtful_self && !f[1].has_doubtful_self;
  return change;
}

Change Difference::per_call(const std::array<Figures, 2>& f) const {
  std::array<Time, 2> times;
  for (size_t s = 0; s < 2; ++s) {
    const double calls = f[s].calls.mean(sides[s].runs);
    times[s] = time_of(f[s].total, f[s].total_range, f[s].total_probe, sides[s].runs) * (calls > 0 ? 1 / calls : 0);
  }
  auto is_doubtful = [](const Figures& side) { return side.has_doubtful_total || side.has_doubtful_calls; };
  return change_of(times[0], times[1], kTotalError, is_doubtful(f[0]) || is_doubtful(f[1]));
}

void ComparedDurations::add(const CallDurations& durations, double seconds_of_cycle) {
  if (durations.calls() == 0) return;
  // Where in the order of the calls a percentile lies is chance: as many standard errors from there as kGreatestP has.
  // Too few calls say nothing of it, nor do the first ones alone of all the others.
  const auto add_percentile = [&](double part, Measurements& value, Range& range) {
    constexpr double kErrors = 1.96, kHalfBucket = 1.0 / 32;
    const double error = kErrors * std::sqrt(part * (1 - part) / double(durations.calls()));
    const auto seconds = [&](double at) { return double(durations.percentile(at)) * seconds_of_cycle; };
    value.add(seconds(part));
    const bool is_known = part - error > 0 && part + error < 1 && !durations.are_of_first_calls();
    range.add(is_known ? Range{seconds(part - error) * (1 - kHalfBucket), seconds(part + error) * (1 + kHalfBucket)}
                       : Range{0, HUGE_VAL});
  };
  add_percentile(0.5, p50, p50_range);
  add_percentile(0.99, p99, p99_range);
  greatest.add(double(durations.greatest()) * seconds_of_cycle);
  shortest = std::max(shortest, double(prof_format::kShortestDuration) * seconds_of_cycle);
  calls += durations.calls();
  ++runs;
}

namespace {

Time time_of(const ComparedDurations& side, const Measurements& value, const Range& range) {
  const double n = double(std::max<size_t>(side.runs, 1));
  return {sample_of(value, side.runs), {range.low / n, range.high / n}, 0};
}

}  // namespace

Change Difference::p50(const ComparedFunction& f) {
  const auto& [a, b] = f.durations;
  return change_of(time_of(a, a.p50, a.p50_range), time_of(b, b.p50, b.p50_range), 0, false);
}

Change Difference::p99(const ComparedFunction& f) {
  const auto& [a, b] = f.durations;
  return change_of(time_of(a, a.p99, a.p99_range), time_of(b, b.p99, b.p99_range), 0, false);
}

Change Difference::greatest(const ComparedFunction& f) {
  const auto& [a, b] = f.durations;
  return change_of(time_of(a, a.greatest, {0, HUGE_VAL}), time_of(b, b.greatest, {0, HUGE_VAL}), 0, false);
}

bool has_changed(const Difference& d, const std::array<Figures, 2>& figures) {
  return d.calls(figures).is_known || (d.timed && d.self(figures).is_known) ||
         (d.has_waiting && d.self_waiting(figures).is_known);
}

namespace {

// A tree of contexts that others are laid over.
class Contexts {
 public:
  Contexts() : nodes_(1), last_child_(1) {}

  // Calls `put` with the place of each node of `from` here, and the node. `function`: by function there, that here;
  // different ones are different.
  template <class Node, class Put>
  void lay_over(const std::vector<Node>& from, const std::vector<uint32_t>& function, const Put& put) {
    std::vector<uint32_t> place(from.size());
    nodes_.reserve(from.size());  // mostly the same contexts as there
    put(nodes_[0], from[0]);
    for (uint32_t i = 0; i < from.size(); ++i) {
      if (from[i].first_child == 0) continue;
      begin_children(place[i]);
      for (uint32_t c = from[i].first_child; c != 0; c = from[c].next_sibling) {
        place[c] = child(place[i], function[from[c].function]);
        put(nodes_[place[c]], from[c]);
      }
    }
  }

  std::vector<ComparedContext> take() {
    last_child_ = {};
    marks_ = {};
    return std::exchange(nodes_, {});
  }

 private:
  void begin_children(uint32_t parent) {
    ++parents_;
    for (uint32_t c = nodes_[parent].first_child; c != 0; c = nodes_[c].next_sibling)
      mark_of(nodes_[c].function) = {parents_, c};
  }

  uint32_t child(uint32_t parent, uint32_t function) {
    Mark& mark = mark_of(function);
    if (mark.parent_number == parents_) return mark.child;
    mark = {parents_, uint32_t(nodes_.size())};
    (last_child_[parent] ? nodes_[last_child_[parent]].next_sibling : nodes_[parent].first_child) = mark.child;
    last_child_[parent] = mark.child;
    ComparedContext& node = nodes_.emplace_back();
    node.function = function;
    node.parent = parent;
    last_child_.push_back(0);
    return mark.child;
  }

  // Which child of the parent with that number a function is.
  struct Mark {
    uint32_t parent_number = 0, child = 0;
  };
  Mark& mark_of(uint32_t function) {
    if (function >= marks_.size()) marks_.resize(function + function / 2 + 64);
    return marks_[function];
  }

  std::vector<ComparedContext> nodes_;
  std::vector<uint32_t> last_child_;
  std::vector<Mark> marks_;  // by function
  uint32_t parents_ = 0;
};

MatchedFunction matched(const FunctionTable& table, const Function& function) {
  const Object& object = table.objects()[function.object];
  MatchedFunction m{function.name, function.raw_name, "", object.original_build_id(), function.address};
  if (object.kind() != Object::Kind::program) m.module = object.name();
  if (function.is_inlined) m.raw_name += ' ' + std::string(prof_names::kInlined);  // the function may be there, too
  m.has_address = !function.is_import && !function.is_inlined && object.kind() != Object::Kind::no_file;
  m.has_name = function.has_name;
  // The same file, as far as can be told.
  if (!m.has_name && m.build_id.empty()) m.build_id = object.path();
  return m;
}

std::string key_of(const MatchedFunction& f) {
  const std::string place = f.has_address ? std::to_string(f.address) : f.raw_name;
  return f.module + '\0' + f.build_id + '\0' + place;
}

// How many have no names and are of files that none of `others` is of, so that they cannot be found there.
uint32_t nameless_in(const std::vector<MatchedFunction>& functions, const std::vector<MatchedFunction>& others) {
  std::unordered_set<std::string> files;
  for (const MatchedFunction& f : others) files.insert(f.build_id);
  uint32_t count = 0;
  for (const MatchedFunction& f : functions) count += !f.has_name && !files.contains(f.build_id);
  return count;
}

}  // namespace

class Comparison::Side {
 public:
  std::vector<uint32_t> add(const Recorded& run, bool with_contexts) {
    check_program(run);
    const double scale = 1 / run.rate();
    std::vector<uint32_t> index;  // here, of each function of the run
    FunctionSum sum;
    for (uint32_t f = 0; f < run.sums.size(); ++f) {
      index.push_back(function(run.functions, run.functions.functions()[f]));
      if (!occurs(run, f)) continue;
      ComparedFunction& compared = functions[index[f]];
      compared.occurs[0] = true;
      compared.sides[0].add(run.sums[f], scale);
      add_self(sum, run.sums[f]);
      if (f < run.durations.size()) compared.durations[0].add(run.durations[f], scale);
    }
    all.add(sum, scale);
    if (with_contexts) {
      contexts.lay_over(run.tree.nodes, index, [scale](ComparedContext& to, const CallNode& from) {
        to.occurs[0] = true;
        to.sides[0].add(from, scale);
      });
    }
    ++summary.runs;
    summary.elapsed += run.run_times.elapsed;
    const std::optional<double> processor = run.run_times.processor;
    if (summary.runs == 1) summary.processor = 0;
    summary.processor = summary.processor && processor ? std::optional(*summary.processor + *processor) : std::nullopt;
    timed = timed && run.timed();
    has_waiting = has_waiting && run.has_waiting();
    return index;
  }

  ComparedSide means() const {
    ComparedSide side = summary;
    side.elapsed /= double(std::max(side.runs, size_t(1)));
    if (side.processor) *side.processor /= double(std::max(side.runs, size_t(1)));
    return side;
  }

  ComparedSide summary;  // times added up
  std::vector<MatchedFunction> names;
  std::vector<ComparedFunction> functions;  // figures in sides[0]
  Contexts contexts;                        // the same
  Figures all;
  bool timed = true, has_waiting = true;

 private:
  void check_program(const Recorded& run) {
    const std::string& id = run.functions.program().original_build_id();
    if (summary.runs == 0) {
      summary.program = run.program;
      build_id_ = id;
    } else if (!id.empty() && !build_id_.empty() && id != build_id_) {
      throw Error(run.program + ": is another build than " + summary.program +
                  "; name the runs of one build, --, and those of the other: prof diff old/prof.* -- new/prof.*");
    }
  }

  uint32_t function(const FunctionTable& table, const Function& f) {
    MatchedFunction m = matched(table, f);
    const auto [at, is_new] = index_.try_emplace(key_of(m), uint32_t(functions.size()));
    if (!is_new) return at->second;
    names.push_back(std::move(m));
    ComparedFunction& compared = functions.emplace_back();
    compared.name = table.name_with_module(f);
    compared.module = table.objects()[f.object].name();
    compared.has_calls = f.has_calls;
    return at->second;
  }

  std::unordered_map<std::string, uint32_t> index_;
  std::string build_id_;
};

Comparison::Comparison(bool with_contexts) : with_contexts_(with_contexts) {
  for (auto& side : sides_) side = std::make_unique<Side>();
}
Comparison::~Comparison() = default;

std::vector<uint32_t> Comparison::add(size_t side, const Recorded& run) {
  return sides_[side]->add(run, with_contexts_);
}

Difference Comparison::finish() {
  Side &a = *sides_[0], &b = *sides_[1];
  Difference d;
  d.sides = {a.means(), b.means()};
  d.timed = a.timed && b.timed;
  d.has_waiting = a.has_waiting && b.has_waiting;
  d.all = {a.all, b.all};
  for (size_t f = 0; f < a.functions.size(); ++f) a.names[f].calls = a.functions[f].sides[0].calls.mean(a.summary.runs);
  for (size_t f = 0; f < b.functions.size(); ++f) b.names[f].calls = b.functions[f].sides[0].calls.mean(b.summary.runs);
  const std::vector<uint32_t> matches = match(a.names, b.names);

  std::vector<uint32_t>& index = d.numbers_of_b;
  d.functions = std::move(a.functions);
  for (uint32_t f = 0; f < b.functions.size(); ++f) {
    ComparedFunction& from = b.functions[f];
    index.push_back(matches[f] == kNoFunction ? uint32_t(d.functions.size()) : matches[f]);
    if (matches[f] == kNoFunction) d.functions.emplace_back();
    ComparedFunction& to = d.functions[index.back()];
    if (matches[f] != kNoFunction && a.names[matches[f]].name != b.names[f].name) to.was = a.names[matches[f]].name;
    to.name = std::move(from.name);
    to.module = std::move(from.module);
    to.has_calls = to.has_calls && from.has_calls;
    to.occurs[1] = from.occurs[0];
    to.sides[1] = from.sides[0];
    to.durations[1] = from.durations[0];
  }
  d.nameless = nameless_in(a.names, b.names) + nameless_in(b.names, a.names);
  if (!with_contexts_) return d;

  // Functions of A have the numbers that they had there, so its contexts can stay as they are.
  a.contexts.lay_over(b.contexts.take(), index, [](ComparedContext& to, const ComparedContext& from) {
    to.occurs[1] = from.occurs[0];
    to.sides[1] = from.sides[0];
  });
  d.contexts = a.contexts.take();
  return d;
}

}  // namespace prof
