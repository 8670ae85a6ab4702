#include <algorithm>
#include <functional>
#include <vector>

#include "libprof/printable.h"
#include "views.h"

namespace prof {

namespace {

// As printf's %*s and the like: at least `width` wide, flushed right.
std::string right(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string decimal(double x, int places) {
  char digits[400];
  return {digits, std::to_chars(digits, digits + sizeof digits, x, std::chars_format::fixed, places).ptr};
}

}  // namespace

std::string shown_time(double time, bool is_rough, bool is_doubtful) {
  return (is_doubtful ? "?" : is_rough && time >= 0.0005 ? "~" : "") + decimal(time, 3);
}

std::string shown_calls(uint64_t calls, bool is_doubtful) { return (is_doubtful ? "?" : "") + std::to_string(calls); }

std::string shown_waiting(const Analysis& analysis, uint64_t elapsed, uint64_t on_processor, uint64_t probes,
                          double units, bool is_doubtful) {
  const int64_t waited = analysis.cpu->waiting(elapsed, on_processor);
  const uint64_t cycles = waited < 0 ? 0 - uint64_t(waited) : uint64_t(waited);
  const double time = analysis.seconds(cycles) * units;
  return (waited < 0 && time >= 0.0005 ? "-" : "") + shown_time(time, is_rough(cycles, probes, 0), is_doubtful);
}

namespace {

// The table's columns between the percentage and the calls: times, each with its title.
struct Column {
  const char* title;
  std::function<std::string(uint32_t function)> text;
};

std::vector<Column> time_columns(const Analysis& analysis) {
  const std::vector<FunctionSum>& sums = analysis.sums;
  auto self = [&](uint32_t f) {
    return shown_time(analysis.seconds(sums[f].self), is_rough(sums[f].self, sums[f].self_probe, sums[f].self_variance),
                      sums[f].has_doubtful_self);
  };
  if (const SampledTimes* sampled = analysis.sampled ? &*analysis.sampled : nullptr) {
    auto error = [sampled](uint32_t f) {
      const SampleRange range = range_of(sampled->samples[f]);
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
      return shown_time(analysis.seconds(other.self), is_rough(other.self, other.self_probe, other.self_variance),
                        other.has_doubtful_self);
    };
    auto waiting = [&analysis, cpu](uint32_t f) {
      const FunctionSum &sum = analysis.sums[f], &other = cpu->sums[f];
      return shown_waiting(analysis, sum.self, other.self, sum.self_probe + other.self_probe, 1,
                           sum.has_doubtful_self || other.has_doubtful_self);
    };
    return {{"Elapsed", self}, {"CPU", on_processor}, {"Waiting", waiting}};
  }
  if (analysis.has_waiting) {
    auto waiting = [&](uint32_t f) {
      return shown_time(analysis.seconds(sums[f].self_waiting), false, sums[f].has_doubtful_self);
    };
    return {{"Self", self}, {"Waiting", waiting}};
  }
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

  const std::vector<Column> columns = time_columns(analysis);
  out.text("  % ");
  for (const Column& column : columns) out.text(" " + right(column.title, 8));
  out.text("    Calls  Name\n");
  for (uint32_t f : order) {
    out.text(right(decimal(whole > 0 ? 100 * part(f) / whole : 0, 1), 4));
    for (const Column& column : columns) out.text(" " + right(column.text(f), 8));
    const bool is_counted = !analysis.sampled || analysis.sampled->is_counted[f];
    out.text(" " + right(is_counted ? shown_calls(sums[f].calls, sums[f].has_doubtful_calls) : "-", 8) + "\t" +
             shown_name(analysis, functions[f]) + "\n");
  }
}

}  // namespace prof
