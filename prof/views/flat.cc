#include <algorithm>
#include <functional>
#include <vector>

#include "libprof/printable.h"
#include "numbers.h"
#include "views.h"

namespace prof {

namespace {

// As printf's %*s and the like: at least `width` wide, flushed right.
std::string right(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// The table's columns between the percentage and the calls: times, each with its title.
struct Column {
  const char* title;
  std::function<std::string(uint32_t function)> text;
};

Range self_range(const FunctionSum& sum) { return with_chance(sum.self_range, sum.self_variance); }

std::vector<Column> time_columns(const Analysis& analysis) {
  const std::vector<FunctionSum>& sums = analysis.sums;
  auto self = [&](uint32_t f) {
    return shown_time(analysis, sums[f].self, self_range(sums[f]), 1, sums[f].has_doubtful_self);
  };
  if (const SampledTimes* sampled = analysis.sampled ? &*analysis.sampled : nullptr) {
    auto error = [sampled](uint32_t f) {
      const SampleRange range = range_of(sampled->samples[f], sampled->weight);
      return decimal(sampled->seconds((range.high - range.low) / 2), 3);
    };
    auto total = [&analysis, sampled](uint32_t f) {
      return sampled->is_counted[f] ? decimal(analysis.seconds(analysis.sums[f].total), 3) : "-";
    };
    return {{"Self", [&](uint32_t f) { return decimal(analysis.seconds(sums[f].self), 3); }},
            {"+/-", error},
            {"Total", total}};
  }
  if (const ProcessorRun* cpu = analysis.cpu ? &*analysis.cpu : nullptr) {
    auto on_processor = [&analysis, cpu](uint32_t f) {
      const FunctionSum& other = cpu->sums[f];
      return shown_time(analysis, other.self, self_range(other), 1, other.has_doubtful_self);
    };
    auto waiting = [&analysis, cpu](uint32_t f) {
      const FunctionSum &sum = analysis.sums[f], &other = cpu->sums[f];
      return shown_waiting(analysis, sum.self, other.self, self_range(sum), self_range(other), 1,
                           sum.has_doubtful_self || other.has_doubtful_self);
    };
    return {{"Elapsed", self}, {"CPU", on_processor}, {"Waiting", waiting}};
  }
  if (analysis.has_waiting) {
    auto waiting = [&](uint32_t f) {
      return shown_time(analysis, sums[f].self_waiting, {}, 1, sums[f].has_doubtful_self);
    };
    return {{"Self", self}, {"Waiting", waiting}};
  }
  if (analysis.by_samples && analysis.timed) return {{"Self", self}};
  // The title stands where Plan 9 has it.
  if (!analysis.timed) return {{"Time ", [](uint32_t) { return "-"; }}};
  return {{"Time ", self}};
}

// Whether there is anything to tell of a function.
bool is_shown(const Analysis& analysis, uint32_t f) {
  auto occurs = [&](const FunctionSum& sum) { return sum.calls != 0 || sum.self != 0 || sum.self_waiting != 0; };
  return occurs(analysis.sums[f]) || (analysis.cpu && occurs(analysis.cpu->sums[f]));
}

// With samples, functions of libraries are shown too, which may be called as one of the program's.
std::string shown_name(const Analysis& analysis, const Function& function) {
  std::string name = function.name;
  if (analysis.sampled && function.object != 0) {
    const std::string& module = analysis.functions.objects()[function.object].name();
    if (module != name) name += " (" + module + ")";
  }
  return prof_text::printable(name);
}

}  // namespace

void print_flat(const Analysis& analysis, Output& out) {
  const std::vector<FunctionSum>& sums = analysis.sums;
  const std::vector<Function>& functions = analysis.functions.functions();
  auto part = [&](uint32_t f) { return double(analysis.timed ? sums[f].self : sums[f].calls); };
  std::vector<uint32_t> order;
  double whole = 0;  // what 100 % are
  for (uint32_t f = 0; f < sums.size(); ++f) {
    if (!is_shown(analysis, f)) continue;
    order.push_back(f);
    whole += part(f);
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (sums[a].self != sums[b].self) return sums[a].self > sums[b].self;
    if (sums[a].self_waiting != sums[b].self_waiting) return sums[a].self_waiting > sums[b].self_waiting;
    if (sums[a].calls != sums[b].calls) return sums[a].calls > sums[b].calls;
    if (functions[a].name != functions[b].name) return functions[a].name < functions[b].name;
    return functions[a].address < functions[b].address;
  });

  const std::string run = analysis.timed && !analysis.sampled ? analysis.run_times.line() : "";
  if (!run.empty()) out.text(run + "\n");
  auto percentage = [&](uint32_t f) {
    const bool is_range =
        analysis.timed && !analysis.sampled && is_shown_as_range(analysis, sums[f].self, self_range(sums[f]), 1);
    return (is_range ? "~" : "") + decimal(whole > 0 ? 100 * part(f) / whole : 0, 1);
  };
  std::vector<std::vector<std::string>> columns;  // of texts, each with its title
  for (const Column& column : time_columns(analysis)) {
    std::vector<std::string>& texts = columns.emplace_back(1, column.title);
    for (uint32_t f : order) texts.push_back(column.text(f));
  }
  size_t share_width = 4;
  for (uint32_t f : order) share_width = std::max(share_width, percentage(f).size());
  std::vector<size_t> widths;
  for (const auto& texts : columns) {
    widths.push_back(8);
    for (const std::string& text : texts) widths.back() = std::max(widths.back(), text.size());
  }
  for (size_t row = 0; row <= order.size(); ++row) {
    const uint32_t f = row == 0 ? 0 : order[row - 1];
    out.text(right(row == 0 ? "% " : percentage(f), share_width));
    for (size_t c = 0; c < columns.size(); ++c) out.text(" " + right(columns[c][row], widths[c]));
    if (row == 0) {
      out.text("    Calls  Name\n");
      continue;
    }
    const bool is_uncalled = analysis.by_samples && sums[f].calls == 0 && functions[f].object != 0;
    const bool is_counted = analysis.sampled ? bool(analysis.sampled->is_counted[f]) : !is_uncalled;
    out.text(" " + right(is_counted ? shown_calls(sums[f].calls, sums[f].has_doubtful_calls) : "-", 8) + "\t" +
             shown_name(analysis, functions[f]) + "\n");
  }
}

}  // namespace prof
