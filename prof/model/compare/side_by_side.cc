#include "side_by_side.h"

#include <algorithm>
#include <numeric>

#include "matching.h"

namespace prof {

namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// The functions of the program itself of which there is anything to tell, and what is said of each.
struct Functions {
  std::vector<MatchedFunction> functions;
  std::vector<Shown> shown;
};

Functions functions_of(const ShownRuns& side) {
  const Recorded& a = *side.recorded;
  Functions found;
  double whole = 0;
  for (uint32_t f = 0; f < a.sums.size(); ++f) {
    const Function& function = a.functions.functions()[f];
    if (function.object != 0 || function.is_import || !occurs(a, f)) continue;
    const double calls = double(a.sums[f].calls) / double(side.runs);
    found.functions.push_back({.name = function.name,
                               .raw_name = function.raw_name,
                               .module = "",
                               .build_id = a.functions.program().original_build_id(),
                               .address = function.address,
                               .has_name = function.has_name,
                               .calls = calls});
    Shown shown{true, std::nullopt, double(a.sums[f].self)};
    if (side.counts_calls && function.has_calls) shown.calls = calls;
    found.shown.push_back(shown);
    whole += shown.share;
  }
  for (Shown& shown : found.shown) shown.share = whole > 0 ? shown.share / whole : 0;
  return found;
}

SideBySide::Agreement agreement_of(const std::vector<ShownFunction>& functions, size_t first, size_t second) {
  SideBySide::Agreement a;
  for (const ShownFunction& f : functions) {
    const double x = f.by[first].calls.value_or(0), y = f.by[second].calls.value_or(0);
    if (x == 0 && y == 0) continue;
    ++(y == 0 ? a.first_only : x == 0 ? a.second_only : x == y ? a.same : a.different);
  }
  return a;
}

}  // namespace

double RunsTaken::median_user() const { return median(user); }
double RunsTaken::median_elapsed() const { return median(elapsed); }

SideBySide side_by_side(std::vector<RunsTaken> runs, const std::vector<ShownRuns>& profilers) {
  SideBySide result;
  result.runs = std::move(runs);
  std::vector<MatchedFunction> known;
  for (const ShownRuns& side : profilers) {
    const size_t column = result.profilers.size();
    result.profilers.push_back(side.name);
    result.counts.push_back(side.counts_calls);
    for (ShownFunction& f : result.functions) f.by.emplace_back();
    const Functions found = functions_of(side);
    const std::vector<uint32_t> matches = match(known, found.functions);
    for (size_t i = 0; i < matches.size(); ++i) {
      uint32_t at = matches[i];
      if (at == kNoFunction) {
        at = uint32_t(result.functions.size());
        known.push_back(found.functions[i]);
        result.functions.push_back({found.functions[i].name, std::vector<Shown>(column + 1)});
      }
      result.functions[at].by[column] = found.shown[i];
    }
  }
  const auto order = [](const ShownFunction& f) {
    std::vector<double> shares;
    for (size_t i = f.by.size(); i-- > 0;) shares.push_back(f.by[i].share);
    return shares;
  };
  std::stable_sort(result.functions.begin(), result.functions.end(),
                   [&](const ShownFunction& a, const ShownFunction& b) {
                     const std::vector<double> x = order(a), y = order(b);
                     return x != y ? x > y : a.name < b.name;
                   });
  std::vector<size_t> counting;
  for (size_t i = 0; i < result.counts.size(); ++i)
    if (result.counts[i]) counting.push_back(i);
  if (counting.size() >= 2) result.agreement = agreement_of(result.functions, counting[0], counting[1]);
  return result;
}

}  // namespace prof
