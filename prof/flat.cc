#include <algorithm>
#include <vector>

#include "views.h"

namespace prof {

namespace {

// As printf's %*s and the like: at least `width` wide, flushed right.
std::string right(std::string text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string decimal(double x, int places) {
  char digits[400];
  return {digits, std::to_chars(digits, digits + sizeof digits, x, std::chars_format::fixed, places).ptr};
}

}  // namespace

std::string shown_time(double time, bool is_rough) {
  return (is_rough && time >= 0.0005 ? "~" : "") + decimal(time, 3);
}

void print_flat(const Analysis& analysis, Output& out) {
  const std::vector<FunctionSum>& sums = analysis.sums;
  const std::vector<Function>& functions = analysis.functions.functions();
  std::vector<uint32_t> order;
  double whole = 0;  // what 100 % are
  for (uint32_t f = 0; f < sums.size(); f++) {
    if (sums[f].calls == 0 && sums[f].self == 0) continue;
    order.push_back(f);
    whole += double(analysis.timed ? sums[f].self : sums[f].calls);
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (sums[a].self != sums[b].self) return sums[a].self > sums[b].self;
    if (sums[a].calls != sums[b].calls) return sums[a].calls > sums[b].calls;
    if (functions[a].name != functions[b].name) return functions[a].name < functions[b].name;
    return functions[a].address < functions[b].address;
  });

  out.text("  %     Time     Calls  Name\n");
  for (uint32_t f : order) {
    const FunctionSum& sum = sums[f];
    const double part = double(analysis.timed ? sum.self : sum.calls);
    out.text(right(decimal(whole > 0 ? 100 * part / whole : 0, 1), 4));
    const std::string time =
        shown_time(analysis.seconds(sum.self), is_rough(sum.self, sum.self_probe, sum.self_variance));
    out.text(" " + right(analysis.timed ? time : "-", 8));
    out.text(" " + right(std::to_string(sum.calls), 8) + "\t" + functions[f].name + "\n");
  }
}

}  // namespace prof
