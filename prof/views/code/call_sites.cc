#include "prof/model/blocks/call_sites.h"

#include <algorithm>
#include <map>

#include "code_views.h"
#include "libprof/printable.h"
#include "prof/model/program/opened_objects.h"
#include "prof/read/file.h"
#include "prof/views/text/listing.h"

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

// Texts, each once. Equal texts have equal numbers.
class Texts {
 public:
  uint32_t number_of(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, uint32_t(texts_.size()));
    if (is_new) texts_.push_back(&at->first);
    return at->second;
  }
  const std::string& text(uint32_t number) const { return *texts_[number]; }

  // By number: which place the text has in the order of the alphabet.
  std::vector<uint32_t> ranks() const {
    std::vector<uint32_t> ranks(texts_.size());
    uint32_t rank = 0;
    for (const auto& [text, number] : numbers_) ranks[number] = rank++;
    return ranks;
  }

 private:
  std::map<std::string, uint32_t> numbers_;
  std::vector<const std::string*> texts_;
};

// What stands behind a number of calls: the place of the call, and what was called from there. There may be a million lines, but
// the texts that they are made of are few.
class Names {
 public:
  Names(const Analysis& analysis, const DebugSearch& search)
      : analysis_(analysis), objects_(analysis.functions, search) {}

  // "main collatz.c:12 -> ", or without debug information "main+0x1c -> ".
  uint32_t place(const CallSite& site) {
    const auto [at, is_new] = places_.try_emplace({site.caller, site.is_instruction ? site.address : kWhole});
    if (is_new) at->second = texts.number_of(of_place(site) + " -> ");
    return at->second;
  }

  // "nseq", with what is to be said of the number.
  uint32_t callee(const CallSite& site) {
    const std::string said = mark(site);
    if (!said.empty()) return texts.number_of(of(site.callee) + said);
    callees_.resize(analysis_.functions.functions().size(), UINT32_MAX);
    uint32_t& known = callees_[site.callee];
    if (known == UINT32_MAX) known = texts.number_of(of(site.callee));
    return known;
  }

  // Of which files debug information cannot be read, and why.
  std::vector<std::string> unreadable() const {
    std::vector<std::string> remarks;
    objects_.each([&](uint32_t, const std::string& name, const OpenedObject& object) {
      if (const std::string problem = object.info.unreadable(); !problem.empty())
        remarks.push_back(name + ": " + problem);
    });
    return remarks;
  }

  Texts texts;

 private:
  static constexpr uint64_t kWhole = UINT64_MAX;  // in the place of an address: of the caller no more is known

  std::string of(uint32_t f) const {
    return prof_text::printable(analysis_.functions.name_with_module(analysis_.functions.functions()[f]));
  }

  std::string of_place(const CallSite& site) {
    const Function& caller = analysis_.functions.functions()[site.caller];
    if (!site.is_instruction) return of(site.caller);
    const LineTable& table = objects_.at(caller.object).info.lines_at(site.address);
    const LineRange* line = table.find(site.address);
    if (!line || line->line == 0) return of(site.caller) + distance(site.address, caller.address);
    return of(site.caller) + " " + prof_text::printable(base_name(table.files[line->file])) + ":" +
           std::to_string(line->line);
  }

  const Analysis& analysis_;
  OpenedObjects objects_;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> places_;  // by caller and address
  std::vector<uint32_t> callees_;                             // by function
};

struct Row {
  uint32_t place, callee;
  uint64_t calls;
  bool is_exact;
};

// There may be several calls in a line: rows with the same texts are one. The most calls come first.
std::vector<Row> rows_of(const std::vector<CallSite>& sites, Names& names) {
  std::vector<Row> rows;
  rows.reserve(sites.size());
  for (const CallSite& site : sites)
    rows.push_back({names.place(site), names.callee(site), site.calls,
                    site.known == CallSite::Known::exactly || !site.is_instruction});
  const std::vector<uint32_t> ranks = names.texts.ranks();
  const auto alphabetical = [&](const Row& row) { return uint64_t(ranks[row.place]) << 32 | ranks[row.callee]; };
  std::ranges::sort(rows, {}, alphabetical);
  size_t sums = 0;
  for (const Row& row : rows) {
    if (sums != 0 && rows[sums - 1].place == row.place && rows[sums - 1].callee == row.callee) {
      add_up(rows[sums - 1].calls, row.calls);
      rows[sums - 1].is_exact = rows[sums - 1].is_exact && row.is_exact;
    } else {
      rows[sums++] = row;
    }
  }
  rows.resize(sums);
  std::ranges::stable_sort(rows, std::ranges::greater(), &Row::calls);
  return rows;
}

}  // namespace

std::vector<std::string> print_call_sites(const Analysis& analysis, const std::vector<CallSite>& sites,
                                          const DebugSearch& search, std::optional<size_t> terminal, Output& out) {
  Names names(analysis, search);
  const std::vector<Row> rows = rows_of(sites, names);
  const auto cell = [](const Row& row) { return (row.is_exact ? "" : "~") + std::to_string(row.calls); };
  size_t widest = 0;
  for (const Row& row : rows) widest = std::max(widest, cell(row).size());
  Listing listing({"Calls"}, {widest}, terminal, out);
  for (const Row& row : rows) listing.print({cell(row)}, names.texts.text(row.place) + names.texts.text(row.callee));
  return names.unreadable();
}

}  // namespace prof
