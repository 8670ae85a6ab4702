#include "inlined.h"

#include <algorithm>

#include "libprof/printable.h"
#include "names.h"
#include "numbers.h"
#include "prof/read/file.h"

namespace prof {

namespace {

std::string place(const std::string& file, unsigned line) {
  if (file.empty()) return "";
  return base_name(file) + (line ? ":" + std::to_string(line) : "");
}

}  // namespace

std::string inlined_heading(const Analysis& analysis) {
  if (analysis.sources.empty()) return "";
  return "Below a function: what was inlined into it. Its time is of all together; parts are of its code only.";
}

std::vector<TextWithName> inlined_lines(const Analysis& analysis, uint32_t function) {
  using prof_text::printable;
  std::vector<TextWithName> lines;
  if (function >= analysis.sources.size()) return lines;
  const FunctionSource& source = analysis.sources[function];
  if (!source.file.empty()) lines.push_back({"  ", "", printable(place(source.file, source.line))});
  for (const InlinedFunction& f : source.inlined) {
    const double part = source.bytes ? 100 * double(f.bytes) / double(source.bytes) : 0;
    std::string share = decimal(part, 1);
    share.insert(0, 5 - std::min<size_t>(5, share.size()), ' ');
    std::string after;
    if (!f.file.empty()) after += "  " + printable(place(f.file, f.line));
    if (f.places > 1) after += ", " + std::to_string(f.places) + " places";
    lines.push_back({"  " + share + " % ", printable(simplified(f.name)), std::move(after)});
  }
  return lines;
}

}  // namespace prof
