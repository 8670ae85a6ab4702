// gprof's flat profile: the functions, what part of the time each had, and what its calls took.

#include <algorithm>
#include <array>

#include "explanations.h"
#include "order.h"
#include "report.h"
#include "text.h"

namespace prof::gprof {

namespace {

struct Prefix {
  char letter;
  double factor;
};

constexpr std::array<Prefix, 11> kPrefixes = {{{'T', 1e-12},
                                               {'G', 1e-09},
                                               {'M', 1e-06},
                                               {'K', 1e-03},
                                               {' ', 1},
                                               {'m', 1e+03},
                                               {'u', 1e+06},
                                               {'n', 1e+09},
                                               {'p', 1e+12},
                                               {'f', 1e+15},
                                               {'a', 1e+18}}};
constexpr Prefix kMilli = kPrefixes[5];

// The unit in which the longest time of a call has one to three digits before the point. gprof takes the greatest unit if
// no call has any time.
Prefix prefix_of(const CallGraph& graph) {
  double longest = 0;
  for (uint32_t f = 0; f < graph.function_count; ++f) {
    const Function& function = graph.functions[f];
    if (function.calls != 0)
      longest = std::max(longest, (function.ticks + function.child_ticks) / double(function.calls));
  }
  if (longest <= 0) return kPrefixes.front();
  longest /= graph.rate;
  const auto fits = std::find_if(kPrefixes.begin(), kPrefixes.end(), [&](const Prefix& prefix) {
    return prefix.factor * longest >= 1 && prefix.factor * longest < 1000;
  });
  return fits == kPrefixes.end() ? kPrefixes.back() : *fits;
}

}  // namespace

void Report::print_flat_header(double total, char prefix) {
  const std::string per_call = formatted("%c%c/call", prefix, graph_.abbreviation);
  const std::string unit_name = unit().name;
  const char* const dimension = unit_name.c_str();
  if (graph_.is_measured) {
    out_.text(formatted("\nTimes are measured, in ticks of %g %.15s.\n", 1 / graph_.rate, graph_.dimension.c_str()));
  } else if (options_.bsd) {
    out_.text(formatted("\ngranularity: each sample hit covers %ld byte(s)", bytes_by_bin()));
    if (total > 0) out_.text(formatted(" for %.2f%% of %.2f %.15s\n\n", 100.0 / total, total / graph_.rate, dimension));
  } else {
    out_.text(formatted("\nEach sample counts as %g %.15s.\n", 1 / graph_.rate, dimension));
  }
  if (total <= 0) out_.text(" no time accumulated\n\n");
  out_.text(formatted("%5.5s %10.10s %8.8s %8.8s %8.8s %8.8s  %-8.8s\n", "%  ", "cumulative", "self  ", "", "self  ",
                      "total ", ""));
  out_.text(formatted("%5.5s %9.9s  %8.8s %8.8s %8.8s %8.8s  %-8.8s\n", "time", dimension, dimension, "calls",
                      per_call.c_str(), per_call.c_str(), "name"));
}

void Report::print_flat_profile() {
  begin_table();
  if (!options_.bsd) {
    out_.text("Flat profile:\n");
  } else if (options_.explains) {
    out_.text("\n\n\nflat profile:\n");
    out_.text(kFlatExplanation);
  }
  const Prefix prefix = options_.bsd ? kMilli : prefix_of(graph_);
  print_flat_header(graph_.total_ticks, prefix.letter);

  const double total = graph_.total_ticks > 0 ? graph_.total_ticks : 1, rate = unit().rate;
  double sum = 0;
  for (const uint32_t row : by_own_time(graph_)) {
    const Function& f = graph_.functions[row];
    if (!selection_.flat.holds(row) || f.is_outside) continue;
    if (!options_.unused && f.calls == 0 && f.ticks == 0) continue;
    sum += f.ticks;
    out_.text(formatted(options_.bsd ? "%5.1f %10.2f %8.2f" : "%6.2f %9.2f %8.2f", 100 * f.ticks / total, sum / rate,
                        f.ticks / rate));
    if (f.calls != 0) {
      const auto calls = double(f.calls);
      out_.text(formatted(" %8lu %8.2f %8.2f  ", static_cast<unsigned long>(f.calls),
                          prefix.factor * f.ticks / graph_.rate / calls,
                          prefix.factor * (f.ticks + f.child_ticks) / graph_.rate / calls));
    } else {
      out_.text(formatted(" %8.8s %8.8s %8.8s  ", "", "", ""));
    }
    out_.text(options_.bsd ? name_with_index(row) : name(row));
    out_.text("\n");
  }
  if (options_.explains && !options_.bsd) out_.text(kFlatExplanation);
}

}  // namespace prof::gprof
