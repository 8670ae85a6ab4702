#include "missing_names.h"

#include <cstdint>
#include <set>
#include <string_view>

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

std::string remark_on_missing_names(const Analysis& analysis) {
  const std::vector<Object>& objects = analysis.functions.objects();
  std::set<uint32_t> nameless;  // objects with such functions
  for (uint32_t f = 0; f < analysis.sums.size(); ++f) {
    const Function& function = analysis.functions.functions()[f];
    if (function.is_import || !occurs(analysis, f)) continue;
    if (objects[function.object].lacks_symbols() && function.raw_name.starts_with('#'))
      nameless.insert(function.object);
  }
  if (nameless.empty()) return "";
  const Object& object = objects[*nameless.begin()];  // the program, if it is one of them
  const size_t others = nameless.size() - 1;
  std::string text = object.name();
  if (others != 0) text += " and " + std::to_string(others) + (others == 1 ? " more module" : " more modules");
  text += ": stripped; ";
  if (object.expected_debug_file().empty()) return text + "nothing in it names a debug file";
  return text + "not found: " + short_path(object.expected_debug_file()) + "; see --debug-dir";
}

}  // namespace prof
