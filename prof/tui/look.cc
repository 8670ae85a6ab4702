#include "look.h"

#include <map>
#include <tuple>

#include "prof/views/run/tree_lines.h"

namespace prof::tui {

namespace {

using Identity = std::tuple<std::string, std::string, uint64_t>;

// By object, name and address. An import stands at other addresses in each module that calls it.
Identity identity_of(const Analysis& analysis, const Function& f) {
  return {analysis.functions.objects()[f.object].name(), f.raw_name, f.is_import ? 0 : f.address};
}

}  // namespace

Look::Look(Analysis of) : analysis(std::move(of)), names(names_of_functions(analysis.functions)) {}

std::vector<uint32_t> same_functions(const Look& before, const Look& after) {
  std::map<Identity, uint32_t> known;
  const std::vector<Function>& now = after.analysis.functions.functions();
  for (uint32_t f = 0; f < now.size(); ++f) known.emplace(identity_of(after.analysis, now[f]), f);
  std::vector<uint32_t> same;
  for (const Function& f : before.analysis.functions.functions()) {
    const auto at = known.find(identity_of(before.analysis, f));
    same.push_back(at == known.end() ? kNoFunction : at->second);
  }
  return same;
}

}  // namespace prof::tui
