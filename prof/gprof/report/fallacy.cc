#include "fallacy.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "libprof/printable.h"
#include "prof/gprof/graph/measured.h"
#include "prof/read/error.h"
#include "report.h"

namespace prof::gprof {

namespace {

constexpr double kMinShare = 0.001;  // of the whole time
constexpr double kGrain = 1e-6;      // of the same: differences that differ by less are equal

struct Row {
  uint32_t arc;
  double measured, guessed;  // ticks

  double difference() const { return measured - guessed; }
};

double ticks(const Arc& arc) { return arc.ticks + arc.child_ticks; }

}  // namespace

void print_fallacy(const Analysis& analysis, std::optional<size_t> most_rows, Output& out) {
  if (!analysis.timed()) throw Error("--fallacy compares times, and PROFTYPE=count takes none");
  const MeasuredAndPropagated graphs = measured_and_propagated_graph(analysis);
  const CallGraph &measured = graphs.measured, &guessed = graphs.propagated;
  std::vector<Row> rows;
  for (uint32_t a = 0; a < measured.arcs.size(); ++a)
    if (!measured.is_within_cycle(measured.arcs[a]))
      rows.push_back({a, ticks(measured.arcs[a]), ticks(guessed.arcs[a])});
  // A wrong time is wrong in the arcs of all callers further up, too: the one nearest to its source comes first.
  const double grain = std::max(1.0, kGrain * measured.total_ticks);
  const auto rank = [&](const Row& row) {
    return std::pair(-std::round(std::abs(row.difference()) / grain),
                     measured.functions[measured.arcs[row.arc].callee].order);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return rank(a) < rank(b); });
  if (most_rows) rows.resize(std::min(rows.size(), *most_rows));
  const double least = most_rows ? 0 : kMinShare * measured.total_ticks;
  std::erase_if(rows, [&](const Row& row) { return std::abs(row.difference()) <= least; });
  if (rows.empty()) {
    out.text("gprof would have been right: no arc differs by more than 0.1% of the time.\n");
    return;
  }
  out.text(formatted("%12s %12s %12s %12s  %s\n", "measured", "gprof's", "difference", "calls", "caller -> callee"));
  out.text(formatted("%12s %12s %12s\n", "seconds", "seconds", "seconds"));
  for (const Row& row : rows) {
    const Arc& arc = measured.arcs[row.arc];
    out.text(formatted("%12.6f %12.6f %+12.6f %12llu  ", row.measured / measured.rate, row.guessed / measured.rate,
                       row.difference() / measured.rate, static_cast<unsigned long long>(arc.calls)));
    out.text(prof_text::printable(measured.functions[arc.caller].printed) + " -> " +
             prof_text::printable(measured.functions[arc.callee].printed) + "\n");
  }
}

}  // namespace prof::gprof
