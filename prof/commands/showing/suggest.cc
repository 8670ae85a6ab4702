// A call costs its two time stamps, whatever the function does. A function that does less than that, and is called
// often, makes the program slow, and its times tell little: most of what is measured there is the measuring. Without
// hooks in a few such functions most programs run nearly as fast as without profiling, and the time of these functions
// is counted as their callers'.
//
// Suggested are functions that do less than a pair of hooks costs (where times are known), those with the most calls
// first, until the cost that is left is small compared to the program's own time.

#include "suggest.h"

#include <algorithm>
#include <optional>

#include "linker-rewrite/text/numbers.h"
#include "prof/commands/options/message.h"

namespace prof {

namespace {

// Cycles of a timed pair of hooks on the machine that tests/bench was first run on, for profiles without times.
constexpr double kUsualPair = 64;
constexpr double kSmallPart = 0.05;  // of the program's own time: what may be left
constexpr double kTooLittle = 0.01;  // of the whole cost: what leaving a function out must save

std::string as_pattern(const std::string& name) {
  std::string pattern;
  for (char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

// Whether an option -N can name it: it is a function of a file that profld rewrote, or an import.
bool can_be_left_out(const Analysis& analysis, const Function& function) {
  const Object& object = analysis.functions.objects()[function.object];
  return function.is_import || (object.kind() != Object::Kind::no_file && !object.is_missing());
}

// How long the program ran: on processors, if that is known. What it waited, for them or for anything else, makes no
// hook cheaper.
double cycles_run(const Analysis& analysis) {
  const std::optional<double>& processor = analysis.run_times.processor;
  return analysis.run_times.processes != 0 && processor && *processor > 0 ? *processor / analysis.seconds(1.0)
                                                                          : analysis.duration;
}

}  // namespace

Suggestion suggest(const Analysis& analysis) {
  const std::vector<Function>& functions = analysis.functions.functions();
  const double pair = analysis.timed() && analysis.probe > 0 ? analysis.probe : kUsualPair;
  std::vector<uint32_t> order;
  double calls = 0;
  for (uint32_t f = 0; f < functions.size(); ++f) {
    const FunctionSum& sum = analysis.sums[f];
    if (sum.has_doubtful_calls) continue;
    calls += double(sum.calls);
    const bool does_little = !analysis.timed() || double(sum.self) < pair * double(sum.calls);
    if (can_be_left_out(analysis, functions[f]) && does_little && sum.calls > 1) order.push_back(f);
  }
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    if (analysis.sums[a].calls != analysis.sums[b].calls) return analysis.sums[a].calls > analysis.sums[b].calls;
    return functions[a].address < functions[b].address;
  });

  Suggestion s;
  s.cost = s.cost_left = pair * calls;
  const double own_time = std::max(cycles_run(analysis) - (analysis.timed() ? s.cost : 0), 0.0);
  double taken = 0;
  for (uint32_t f : order) {
    const double saved = pair * double(analysis.sums[f].calls);
    if (s.cost_left <= kSmallPart * own_time || saved < kTooLittle * s.cost) break;
    // One pattern is for all of a name: the calls of an import, and the function of the library.
    const std::string pattern = as_pattern(functions[f].raw_name);
    if (!std::ranges::count(s.patterns, pattern)) s.patterns.push_back(pattern);
    s.cost_left = std::max(s.cost_left - saved, 0.0);  // counts may be damaged
    taken += double(analysis.sums[f].calls);
  }
  s.calls = calls > 0 ? taken / calls : 0;
  return s;
}

void print_suggestion(const Analysis& analysis, Output& out) {
  const Suggestion s = suggest(analysis);
  for (const std::string& pattern : s.patterns)
    out.text((&pattern == s.patterns.data() ? "-N " : " -N ") + quoted(pattern));
  if (!s.patterns.empty()) out.text("\n");
  const double second = analysis.seconds(1.0);
  char text[200];
  if (s.patterns.empty())
    std::snprintf(text, sizeof text, "no function is worth leaving out: timing all calls took %.3f s", s.cost * second);
  else
    std::snprintf(text, sizeof text, "%s with %.1f %% of all calls; without them timing takes %.3f s, not %.3f s",
                  prof_text::count_of(s.patterns.size(), "function").c_str(), 100 * s.calls, s.cost_left * second,
                  s.cost * second);
  say(text);
}

}  // namespace prof
