#include "prof/model/call_sites.h"

#include <algorithm>
#include <map>

#include "code_views.h"
#include "libprof/printable.h"
#include "listing.h"
#include "prof/model/opened_objects.h"
#include "prof/read/file.h"

namespace prof {

namespace {

// What is to be said of a number that is not exact.
std::string mark(const CallSite& site) {
  using Known = CallSite::Known;
  switch (site.known) {
    case Known::exactly:
      return "";
    case Known::of_calls:
      return "  (of " + std::to_string(site.candidates) + " calls)";
    case Known::of_indirect_calls:
      return "  (of " + std::to_string(site.candidates) + " indirect calls)";
    case Known::of_other_code:
      return "  (through other code)";
  }
  return "";
}

class Names {
 public:
  Names(const Analysis& analysis, const DebugSearch& search) : analysis_(analysis), objects_(analysis, search) {}

  std::string of(uint32_t f) const {
    return prof_text::printable(analysis_.functions.name_with_module(analysis_.functions.functions()[f]));
  }

  // "main collatz.c:12", or without debug information "main+0x1c".
  std::string of_place(const CallSite& site) {
    const Function& caller = analysis_.functions.functions()[site.caller];
    if (!site.is_instruction) return of(site.caller);
    const LineTable& table = objects_.at(caller.object).info.lines_at(site.address);
    const LineRange* line = table.find(site.address);
    if (!line || line->line == 0) return of(site.caller) + distance(site.address, caller.address);
    return of(site.caller) + " " + prof_text::printable(base_name(table.files[line->file])) + ":" +
           std::to_string(line->line);
  }

 private:
  const Analysis& analysis_;
  OpenedObjects objects_;
};

}  // namespace

void print_call_sites(const Analysis& analysis, const std::vector<CallSite>& sites, const DebugSearch& search,
                      std::optional<size_t> terminal, Output& out) {
  Names names(analysis, search);
  struct Row {
    uint64_t calls = 0;
    bool is_exact = true;
  };
  std::map<std::string, Row> rows;  // by what stands behind the number: there may be several calls in a line
  for (const CallSite& site : sites) {
    Row& row = rows[names.of_place(site) + " -> " + names.of(site.callee) + mark(site)];
    add_up(row.calls, site.calls);
    row.is_exact = row.is_exact && (site.known == CallSite::Known::exactly || !site.is_instruction);
  }
  std::vector<std::pair<std::string, Row>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.calls > b.second.calls; });
  std::vector<ListingLine> lines;
  for (const auto& [text, row] : sorted)
    lines.push_back({{(row.is_exact ? "" : "~") + std::to_string(row.calls)}, text});
  print_listing({"Calls"}, lines, terminal, out);
}

}  // namespace prof
