#include "context_selection.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "contexts.h"
#include "linker-rewrite/names/pattern.h"
#include "recorded.h"

namespace prof {

namespace {

// The functions whose names match one of the patterns.
FunctionSet functions_meant(const Recorded& recorded, const std::vector<std::string>& patterns) {
  std::vector<prof_names::Pattern> meant;
  for (const std::string& pattern : patterns) meant.emplace_back(pattern);
  FunctionSet set;
  if (meant.empty()) return FunctionSet(recorded.functions.functions().size());
  for (const Function& f : recorded.functions.functions()) {
    const prof_names::Name name = recorded.functions.name_for_patterns(f);
    set.push_back(std::ranges::any_of(meant, [&](const prof_names::Pattern& p) { return p.matches(name); }));
  }
  return set;
}

// Samples without chains are of functions, and are spread over their contexts (sampled.h). Of a function that is in no
// context, the part that is left is all or nothing.
void keep_samples(Recorded& a, const std::vector<FunctionSum>& before, const FunctionSet& is_left) {
  for (size_t f = 0; f < before.size(); ++f) {
    uint64_t& samples = a.sampled->samples[f];
    if (before[f].calls != 0 || a.sampled->has_chains()) {
      const double part = before[f].self == 0 ? 0 : double(a.sums[f].self) / double(before[f].self);
      samples = uint64_t(std::llround(double(samples) * std::min(part, 1.0)));
    } else if (is_left[f]) {
      a.sums[f] = before[f];
    } else {
      samples = 0;
    }
  }
}

}  // namespace

void select_contexts(Recorded& a, const ContextSelection& selection) {
  if (!selection.is_any()) return;
  a.contexts = SelectedContexts{selection};
  for (const FunctionSum& sum : a.sums) add_self(a.contexts.whole, sum);
  const FunctionSet focus = functions_meant(a, selection.focus), ignore = functions_meant(a, selection.ignore);
  const FunctionSet callers = functions_meant(a, selection.callers), callees = functions_meant(a, selection.callees);
  auto for_each_tree = [&](auto change) {
    change(a.tree);
    if (a.cpu) change(a.cpu->tree);
  };
  for_each_tree([&](Tree& tree) {
    if (!selection.focus.empty()) tree = focus_on(tree, focus);
    if (!selection.ignore.empty()) tree = leave_out(tree, ignore);
    if (!selection.callees.empty()) tree = callees_of(tree, callees);
  });
  FunctionSet is_left;
  for (size_t f = 0; f < a.sums.size(); ++f)
    is_left.push_back((selection.focus.empty() || focus[f]) && !ignore[f] && (selection.callees.empty() || callees[f]));
  std::vector<FunctionSum> before = std::exchange(a.sums, sum_functions(a.tree, a.sums.size()));
  if (a.sampled) keep_samples(a, before, is_left);
  if (a.by_samples()) make_zeros_uncertain(a.sums, a.cycles_of_sample());
  if (a.cpu) a.cpu->sums = sum_functions(a.cpu->tree, a.cpu->sums.size());
  if (selection.callers.empty()) return;
  for_each_tree([&](Tree& tree) {
    CallersTree seen = callers_of(tree, callers);
    tree = std::move(seen.tree);
    a.contexts.caller_levels = seen.levels;
  });
}

std::string problem_of(const ContextSelection& selection, const Recorded& recorded) {
  for (const auto& [option, patterns] : {std::pair("--focus ", &selection.focus),
                                         {"--ignore ", &selection.ignore},
                                         {"--callers ", &selection.callers},
                                         {"--callees ", &selection.callees}}) {
    if (patterns->empty()) continue;
    const FunctionSet set = functions_meant(recorded, *patterns);
    if (std::ranges::find(set, true) != set.end()) continue;
    prof_names::Nearest nearest(prof_names::Pattern(patterns->front()));
    for (const Function& f : recorded.functions.functions()) nearest.add(recorded.functions.name_for_patterns(f));
    const std::string question = nearest.question();
    return option + patterns->front() + ": no function matches" + (question.empty() ? "" : "; " + question);
  }
  return "";
}

}  // namespace prof
