#include "name_selection.h"

#include <algorithm>
#include <functional>

#include "linker-rewrite/names/nearest.h"
#include "linker-rewrite/text/hexadecimal.h"

namespace profld {

namespace {

using prof_names::Languages;
using prof_names::Name;
using prof_names::Nearest;
using prof_names::Pattern;

Languages languages_of(const Image& image, const DebugNames& more) {
  Languages languages;
  for (const Symbol& symbol : image.symbols()) languages.note(symbol.name);
  for (const auto& [address, names] : more)
    for (const std::string& name : names) languages.note(name);
  return languages;
}

// `more`: names besides those in the program itself.
std::vector<Name> names_of(const CodeRange& range, Languages languages, const DebugNames& more) {
  std::vector<Name> names;
  for (const std::string& name : range.names) names.emplace_back(name, languages);
  if (names.empty()) names.emplace_back("#" + prof_text::hexadecimal_digits(range.range.start.value));
  if (const auto found = more.find(range.range.start); found != more.end())
    for (const std::string& name : found->second) names.emplace_back(name, languages);
  return names;
}

// Calls `see' with each name of a function that can be selected, until it returns false.
void see_names(const Program& program, const DebugNames& more, const std::function<bool(const Name&)>& see) {
  const Languages languages = languages_of(*program.image, more);
  for (const CodeRange& range : program.ranges) {
    if (range.fragment) continue;
    for (const Name& name : names_of(range, languages, more))
      if (!see(name)) return;
  }
  for (const Symbol& symbol : program.image->dynamic_symbols())
    if (symbol.section == SHN_UNDEF && !symbol.name.empty() && !see(Name(symbol.name, languages))) return;
}

struct Unmatched {
  std::string option;
  Pattern pattern;
  Nearest nearest;
};

}  // namespace

NameSelection::NameSelection(const Selection& selection, const Image& image)
    : filter_(selection.only, selection.not_), debug_names_(selection.debug_names) {
  if (!filter_.is_empty()) languages_ = languages_of(image, debug_names_);
}

bool NameSelection::has(const CodeRange& range) const {
  return filter_.is_empty() || filter_.selects(names_of(range, languages_, debug_names_));
}

bool NameSelection::has(const std::string& import) const {
  return filter_.is_empty() || filter_.selects(std::vector<Name>{Name(import, languages_)});
}

std::vector<std::string> unmatched_patterns(const Selection& selection, const Program& program) {
  std::vector<Unmatched> unmatched;
  for (const std::string& glob : selection.only) unmatched.push_back({"-F", Pattern(glob), Nearest(Pattern(glob))});
  for (const std::string& glob : selection.not_) unmatched.push_back({"-N", Pattern(glob), Nearest(Pattern(glob))});
  if (unmatched.empty()) return {};
  see_names(program, selection.debug_names, [&](const Name& name) {
    std::erase_if(unmatched, [&](const Unmatched& u) { return u.pattern.matches(name); });
    return !unmatched.empty();
  });
  if (unmatched.empty()) return {};
  see_names(program, selection.debug_names, [&](const Name& name) {
    for (Unmatched& u : unmatched) u.nearest.add(name);
    return true;
  });
  std::vector<std::string> lines;
  for (const Unmatched& u : unmatched) {
    const std::string question = u.nearest.question();
    lines.push_back(u.option + " " + u.pattern.glob() + ": matches no function" +
                    (question.empty() ? "" : "; " + question));
  }
  return lines;
}

}  // namespace profld
