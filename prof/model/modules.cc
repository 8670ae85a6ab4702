#include "modules.h"

#include <fnmatch.h>

#include <algorithm>
#include <string>
#include <vector>

#include "libprof/printable.h"
#include "prof/read/error.h"

namespace prof {

namespace {

// "[libraries]" is a name that is a pattern, too, for one of these letters.
bool matches(const std::string& pattern, const std::string& name) {
  return pattern == name || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

Modules::Modules(const Analysis& analysis) : sums_(analysis.functions.objects().size()) {
  for (uint32_t f = 0; f < analysis.sums.size(); ++f)
    if (occurs(analysis, f)) add(analysis, f);
  const std::vector<std::string>& patterns = analysis.module_patterns;
  for (const Object& object : analysis.functions.objects())
    selected_.push_back(patterns.empty() ||
                        std::ranges::any_of(patterns, [&](const std::string& p) { return matches(p, object.name()); }));
}

void Modules::add(const Analysis& analysis, uint32_t f) {
  const Function& function = analysis.functions.functions()[f];
  ModuleSum& module = sums_[function.object];
  const bool has_calls = analysis.sampled ? bool(analysis.sampled->is_counted[f]) : function.has_calls;
  module.has_calls = has_calls || (module.functions != 0 && module.has_calls);
  ++module.functions;
  module.sum.add_self(analysis.sums[f]);
  if (analysis.cpu) module.on_processor.add_self(analysis.cpu->sums[f]);
  if (analysis.sampled) module.samples += analysis.sampled->samples[f];
}

std::vector<bool> selected_nodes(const Analysis& analysis, const Modules& modules) {
  const std::vector<CallNode>& nodes = analysis.tree.nodes;
  std::vector<bool> selected(nodes.size());
  for (size_t i = nodes.size(); i-- > 1;) {
    const Function& function = analysis.functions.functions()[nodes[i].function];
    if (selected[i] || modules.selected()[function.object]) selected[i] = selected[nodes[i].parent] = true;
  }
  return selected;
}

void check_patterns(const Analysis& analysis) {
  if (analysis.module_patterns.empty()) return;
  const Modules modules(analysis);
  std::vector<std::string> names;  // of modules that did anything
  for (size_t m = 0; m < modules.sums().size(); ++m)
    if (modules.sums()[m].functions != 0) names.push_back(analysis.functions.objects()[m].name());
  for (const std::string& pattern : analysis.module_patterns) {
    if (std::ranges::any_of(names, [&](const std::string& name) { return matches(pattern, name); })) continue;
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + prof_text::printable(name);
    throw Error("--module " + pattern + ": no module matches; there " +
                (all.empty() ? "is none in the profile" : "are " + all));
  }
}

}  // namespace prof
