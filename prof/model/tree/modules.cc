#include "modules.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "libprof/printable.h"
#include "linker-rewrite/names/pattern.h"
#include "prof/read/error.h"

namespace prof {

namespace {

// "[libraries]" is a name that is a pattern, too, for one of these letters.
bool matches(const std::string& pattern, const std::string& name) {
  return pattern == name || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

Modules::Modules(const Recorded& recorded) : sums_(recorded.functions.objects().size()) {
  for (uint32_t f = 0; f < recorded.sums.size(); ++f)
    if (occurs(recorded, f)) add(recorded, f);
  const std::vector<std::string>& patterns = recorded.module_patterns;
  for (const Object& object : recorded.functions.objects())
    selected_.push_back(patterns.empty() ||
                        std::ranges::any_of(patterns, [&](const std::string& p) { return matches(p, object.name()); }));
}

void Modules::add(const Recorded& recorded, uint32_t f) {
  const Function& function = recorded.functions.functions()[f];
  ModuleSum& module = sums_[function.object];
  const bool has_calls = recorded.counts_calls_of(uint32_t(f));
  module.has_calls = has_calls || (module.functions != 0 && module.has_calls);
  ++module.functions;
  add_self(module.sum, recorded.sums[f]);
  if (recorded.cpu) add_self(module.on_processor, recorded.cpu->sums[f]);
  if (recorded.sampled) module.samples += recorded.sampled->samples[f];
}

std::vector<bool> selected_functions(const Recorded& recorded, const Modules& modules) {
  std::vector<bool> selected;
  for (const Function& function : recorded.functions.functions())
    selected.push_back(modules.selected()[function.object] &&
                       (recorded.function_filter.is_empty() ||
                        recorded.function_filter.selects(std::vector{recorded.functions.name_for_patterns(function)})));
  return selected;
}

std::vector<bool> selected_nodes(const Recorded& recorded, const Modules& modules) {
  const std::vector<CallNode>& nodes = recorded.tree.nodes;
  const std::vector<bool> functions = selected_functions(recorded, modules);
  std::vector<bool> selected(nodes.size());
  for (size_t i = nodes.size(); i-- > 1;)
    if (selected[i] || functions[nodes[i].function]) selected[i] = selected[nodes[i].parent] = true;
  return selected;
}

namespace {

void check_module_patterns(const Recorded& recorded) {
  if (recorded.module_patterns.empty()) return;
  const Modules modules(recorded);
  std::vector<std::string> names;  // of modules that did anything
  for (size_t m = 0; m < modules.sums().size(); ++m)
    if (modules.sums()[m].functions != 0) names.push_back(recorded.functions.objects()[m].name());
  for (const std::string& pattern : recorded.module_patterns) {
    if (std::ranges::any_of(names, [&](const std::string& name) { return matches(pattern, name); })) continue;
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + prof_text::printable(name);
    throw Error("--module " + pattern + ": no module matches; there " +
                (names.empty() ? "is none in the profile" : (names.size() == 1 ? "is only " : "are ") + all));
  }
}

// "matches no function; did you mean sort?"; "" if a function matches that there is anything to tell of.
std::string problem_of(const prof_names::Pattern& pattern, const Recorded& recorded) {
  prof_names::Nearest nearest(pattern);
  for (uint32_t f = 0; f < recorded.sums.size(); ++f) {
    if (!occurs(recorded, f)) continue;
    const prof_names::Name name = recorded.functions.name_for_patterns(recorded.functions.functions()[f]);
    if (pattern.matches(name)) return "";
    nearest.add(name);
  }
  const std::string question = nearest.question();
  return pattern.glob() + ": matches no function in the profile" + (question.empty() ? "" : "; " + question);
}

}  // namespace

std::vector<std::string> check_patterns(const Recorded& recorded) {
  check_module_patterns(recorded);
  for (const prof_names::Pattern& pattern : recorded.function_filter.only())
    if (const std::string problem = problem_of(pattern, recorded); !problem.empty())
      throw Error("--function " + problem);
  std::vector<std::string> remarks;
  for (const prof_names::Pattern& pattern : recorded.function_filter.except())
    if (const std::string problem = problem_of(pattern, recorded); !problem.empty())
      remarks.push_back("--not-function " + problem);
  return remarks;
}

namespace {

// What is damaged is taken to be absent.
std::optional<prof_format::CodeCoverage> read_coverage(const ElfFile& file) {
  const std::string_view bytes = file.section(prof_format::kCoverageSection);
  prof_format::CodeCoverage code;
  if (bytes.size() < sizeof code) return {};
  std::memcpy(&code, bytes.data(), sizeof code);
  if (std::memcmp(code.magic, prof_format::kCoverageMagic, sizeof code.magic) != 0) return {};
  constexpr uint64_t kMax = uint64_t(1) << 40;  // bytes; so that sums have room
  for (uint64_t bytes_of : {code.hooked, code.stays, code.not_chosen, code.stubs, code.padding, code.unknown})
    if (bytes_of > kMax) return {};
  return code;
}

}  // namespace

std::vector<ModuleCoverage> coverages(const Recorded& recorded) {
  std::vector<ModuleCoverage> found;
  const std::vector<Object>& objects = recorded.functions.objects();
  for (uint32_t o = 0; o < objects.size(); ++o) {
    const Object& object = objects[o];
    if (!object.is_rewritten()) continue;
    if (const auto code = read_coverage(object.files()[0]); code && code->hooked + code->stays + code->unknown != 0)
      found.push_back({o, object.name(), *code});
  }
  return found;
}

std::vector<ModuleCoverage> low_coverages(const Recorded& recorded) {
  return recorded.has_hooks() ? coverages(recorded) : std::vector<ModuleCoverage>();
}

CountedModules::CountedModules(const Recorded& recorded) : recorded_(recorded) {
  const std::vector<Object>& objects = recorded.functions.objects();
  if (recorded.module_patterns.empty())
    for (const Object& object : objects) wanted_.push_back(object.kind() == Object::Kind::program);
  else
    wanted_ = Modules(recorded).selected();
  counted_.resize(objects.size());
  for (const BlockCount& block : recorded.blocks)
    if (wanted_[block.object])
      counted_[block.object] = true;
    else
      others_.insert(objects[block.object].name());
}

std::string CountedModules::problem(const std::string& profile) const {
  if (std::ranges::count(counted_, true) != 0) return "";
  if (others_.empty()) return profile + ": blocks were not counted; use prof run or profld -b";
  const std::string what = recorded_.module_patterns.empty() ? recorded_.functions.program().name() : "--module";
  return what + ": blocks were only counted in " + *others_.begin() +
         (others_.size() == 1 ? "" : " and other modules") + "; name them with --module";
}

std::vector<std::string> CountedModules::remarks_on_coverage() const {
  std::vector<std::string> remarks;
  for (const ModuleCoverage& module : coverages(recorded_)) {
    const auto percent = int(100 * double(module.missing()) / double(module.could_have_hooks()) + 0.5);
    if (percent > 0 && has_counts(module.object))
      remarks.push_back(module.module + ": " + std::to_string(percent) +
                        " % of its code has no counters, so that what ran of it is not in the profile");
  }
  return remarks;
}

}  // namespace prof
