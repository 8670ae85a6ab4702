#include <algorithm>
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

void print_flat(const Analysis& analysis, Output& out) {
  const std::vector<FunctionSum>& sums = analysis.sums;
  const std::vector<Function>& functions = analysis.functions.functions();
  const ProcessorRun* cpu = analysis.cpu ? &*analysis.cpu : nullptr;
  auto was_on_processor = [&](uint32_t f) { return cpu && (cpu->sums[f].calls != 0 || cpu->sums[f].self != 0); };
  std::vector<uint32_t> order;
  double whole = 0;  // what 100 % are
  for (uint32_t f = 0; f < sums.size(); ++f) {
    if (sums[f].calls == 0 && sums[f].self == 0 && !was_on_processor(f)) continue;
    order.push_back(f);
    whole += double(analysis.timed ? sums[f].self : sums[f].calls);
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (sums[a].self != sums[b].self) return sums[a].self > sums[b].self;
    if (sums[a].calls != sums[b].calls) return sums[a].calls > sums[b].calls;
    if (functions[a].name != functions[b].name) return functions[a].name < functions[b].name;
    return functions[a].address < functions[b].address;
  });

  out.text(cpu ? "  %   Elapsed      CPU  Waiting    Calls  Name\n" : "  %     Time     Calls  Name\n");
  for (uint32_t f : order) {
    const FunctionSum& sum = sums[f];
    const double part = double(analysis.timed ? sum.self : sum.calls);
    out.text(right(decimal(whole > 0 ? 100 * part / whole : 0, 1), 4));
    const std::string time = shown_time(analysis.seconds(sum.self),
                                        is_rough(sum.self, sum.self_probe, sum.self_variance), sum.has_doubtful_self);
    out.text(" " + right(analysis.timed ? time : "-", 8));
    if (cpu) {
      const FunctionSum& other = cpu->sums[f];
      const bool is_other_rough = is_rough(other.self, other.self_probe, other.self_variance);
      const uint64_t probes = sum.self_probe + other.self_probe;
      out.text(" " + right(shown_time(analysis.seconds(other.self), is_other_rough, other.has_doubtful_self), 8));
      const bool is_doubtful = sum.has_doubtful_self || other.has_doubtful_self;
      out.text(" " + right(shown_waiting(analysis, sum.self, other.self, probes, 1, is_doubtful), 8));
    }
    out.text(" " + right(shown_calls(sum.calls, sum.has_doubtful_calls), 8) + "\t" +
             prof_text::printable(functions[f].name) + "\n");
  }
}

}  // namespace prof
