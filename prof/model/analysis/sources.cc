#include "sources.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "linker-rewrite/text/count.h"
#include "prof/model/program/object_debug_info.h"

namespace prof {

namespace {

// A debug file as it is short: without the folder where all are, and of its build-id as much as tells it from others, as a
// pattern of the shell's: ".build-id/34/e61424*.debug".
std::string short_path(const std::string& path) {
  constexpr std::string_view kUsual = "/usr/lib/debug/", kById = ".build-id/", kEnd = ".debug";
  constexpr size_t kDigits = 9;  // with a slash: "34/e61424"
  std::string text = path.starts_with(kUsual) ? path.substr(kUsual.size()) : path;
  const size_t at = text.find(kById), id = at + kById.size();
  if (at != std::string::npos && text.ends_with(kEnd) && text.size() > id + kDigits + kEnd.size())
    text.replace(id + kDigits, text.size() - kEnd.size() - id - kDigits, "*");
  return text;
}

}  // namespace

std::string remark_on_missing_names(const Recorded& recorded) {
  const std::vector<Object>& objects = recorded.functions.objects();
  std::set<uint32_t> nameless;  // objects with such functions
  for (uint32_t f = 0; f < recorded.sums.size(); ++f) {
    const Function& function = recorded.functions.functions()[f];
    if (function.is_import || !occurs(recorded, f)) continue;
    if (objects[function.object].lacks_symbols() && function.raw_name.starts_with('#'))
      nameless.insert(function.object);
  }
  if (nameless.empty()) return "";
  const Object& object = objects[*nameless.begin()];  // the program, if it is one of them
  const size_t others = nameless.size() - 1;
  std::string text = object.name();
  if (others != 0) text += " and " + prof_text::count_of(others, "more module");
  text += ": stripped; ";
  if (object.expected_debug_file().empty()) return text + "nothing in it names a debug file";
  return text + "not found: " + short_path(object.expected_debug_file()) + "; see --debug-dir";
}

void find_sources(Recorded& recorded, const DebugSearch& search, std::vector<std::string>& remarks) {
  std::map<uint32_t, ObjectDebugInfo> objects;
  std::map<uint32_t, SamplesByAddress> samples;  // by object
  for (const AddressSamples& s : recorded.histogram) samples[s.object][s.address] += s.samples;
  const std::vector<Function>& functions = recorded.functions.functions();
  recorded.sources.assign(functions.size(), {});
  for (uint32_t f = 0; f < functions.size(); ++f) {
    const Object& object = recorded.functions.objects()[functions[f].object];
    if (functions[f].is_import || object.files().empty() || !occurs(recorded, f)) continue;
    const auto at = objects.try_emplace(functions[f].object, object, search).first;
    if (std::optional<FunctionSource> source = at->second.find(functions[f].address, samples[functions[f].object])) {
      for (InlinedFunction& inlined : source->inlined)
        inlined.name = recorded.functions.name_of(inlined.raw_name, object);
      recorded.sources[f] = std::move(*source);
    }
  }
  for (const auto& [o, info] : objects)
    if (const std::string problem = info.problem(); !problem.empty())
      remarks.push_back(recorded.functions.objects()[o].name() + ": " + problem);
}

std::string remark_on_inlining(const Recorded& recorded, const DebugSearch& search) {
  double all = 0;
  uint32_t top = 0;
  for (uint32_t f = 0; f < recorded.sums.size(); ++f) {
    all += double(recorded.sums[f].self);
    if (recorded.sums[f].self > recorded.sums[top].self) top = f;
  }
  if (!recorded.timed() || all <= 0 || double(recorded.sums[top].self) <= all / 2) return "";
  const Function& function = recorded.functions.functions()[top];
  const Object& object = recorded.functions.objects()[function.object];
  if (function.is_import || object.files().empty()) return "";
  const std::optional<FunctionSource> source =
      ObjectDebugInfo(object, search, kQuicklyReadDebugInfo).find(function.address);
  if (!source || source->inlined.empty()) return "";
  const size_t count = source->inlined.size();
  char share[40];
  std::snprintf(share, sizeof share, " is %.0f %%: ", 100 * double(recorded.sums[top].self) / all);
  return recorded.functions.name_with_module(function) + share +
         prof_text::count_of(count, "function was", "functions were") + " inlined into it; prof --inlined lists " +
         (count == 1 ? "it" : "them");
}

}  // namespace prof
