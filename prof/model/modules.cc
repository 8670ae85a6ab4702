#include "modules.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>

#include "libprof/printable.h"
#include "prof/read/error.h"

namespace prof {

namespace {

// "[libraries]" is a name that is a pattern, too, for one of these letters.
bool matches(const std::string& pattern, const std::string& name) {
  return pattern == name || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

Modules::Modules(const Analysis& analysis) {
  const std::vector<Object>& objects = analysis.functions.objects();
  std::vector<uint32_t> of_object;
  for (const Object& object : objects) {
    of_object.push_back(uint32_t(sums_.size()));
    sums_.emplace_back().name = object.name();
    sums_.back().object = &object;
  }
  const auto libraries = [&] {
    const auto at = std::ranges::find(sums_, "[libraries]", &ModuleSum::name);
    if (at != sums_.end()) return uint32_t(at - sums_.begin());
    sums_.emplace_back().name = "[libraries]";
    return uint32_t(sums_.size() - 1);
  };
  for (const Function& f : analysis.functions.functions())
    of_.push_back(f.is_import ? libraries() : of_object[f.object]);
  for (uint32_t f = 0; f < analysis.sums.size(); ++f)
    if (occurs(analysis, f)) add(analysis, f);
  const std::vector<std::string>& patterns = analysis.module_patterns;
  for (const ModuleSum& m : sums_)
    selected_.push_back(patterns.empty() ||
                        std::ranges::any_of(patterns, [&](const std::string& p) { return matches(p, m.name); }));
}

void Modules::add(const Analysis& analysis, uint32_t function) {
  ModuleSum& module = sums_[of_[function]];
  const bool has_calls = analysis.sampled ? bool(analysis.sampled->is_counted[function])
                                          : analysis.functions.functions()[function].has_calls;
  module.has_calls = has_calls || (module.functions != 0 && module.has_calls);
  ++module.functions;
  module.sum.add_self(analysis.sums[function]);
  if (analysis.cpu) module.on_processor.add_self(analysis.cpu->sums[function]);
  if (analysis.sampled) module.samples += analysis.sampled->samples[function];
}

std::vector<bool> selected_nodes(const Analysis& analysis, const Modules& modules) {
  const std::vector<CallNode>& nodes = analysis.tree.nodes;
  std::vector<bool> selected(nodes.size());
  for (size_t i = nodes.size(); i-- > 1;) {
    if (!selected[i] && !modules.is_selected(nodes[i].function)) continue;
    selected[i] = selected[nodes[i].parent] = true;
  }
  return selected;
}

void check_patterns(const Analysis& analysis) {
  if (analysis.module_patterns.empty()) return;
  const Modules modules(analysis);
  std::string names;
  for (const ModuleSum& m : modules.sums())
    if (m.functions != 0) names += (names.empty() ? "" : ", ") + prof_text::printable(m.name);
  for (const std::string& pattern : analysis.module_patterns) {
    const bool is_known = std::ranges::any_of(
        modules.sums(), [&](const ModuleSum& m) { return m.functions && matches(pattern, m.name); });
    if (!is_known)
      throw Error("--module " + pattern + ": no module matches; there " +
                  (names.empty() ? "is none in the profile" : "are " + names));
  }
}

}  // namespace prof
