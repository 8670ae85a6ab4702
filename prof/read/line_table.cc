#include "line_table.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace prof {

const LineRange* LineTable::find(uint64_t address) const {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), address,
                                [](uint64_t a, const LineRange& range) { return a < range.start; });
  if (after == ranges.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

namespace {

// Adds the paths of a table's files, each once.
class Files {
 public:
  explicit Files(LineTable& table) : table_(table) {}

  uint32_t index_of(const char* path) {
    const auto [at, is_new] = known_.try_emplace(path, 0);
    if (!is_new) return at->second;
    const std::string normal = std::filesystem::path(path).lexically_normal().string();
    const auto [same, is_first] = by_normal_.try_emplace(normal, uint32_t(table_.files.size()));
    if (is_first) table_.files.push_back(normal);
    return at->second = same->second;
  }

 private:
  LineTable& table_;
  std::map<const char*, uint32_t> known_;  // libdw has each path once
  std::map<std::string, uint32_t> by_normal_;
};

}  // namespace

void for_each_line_row(Dwarf_Die& unit, const std::function<void(const LineRow&)>& use) {
  Dwarf_Lines* lines = nullptr;
  size_t count = 0;
  if (dwarf_getsrclines(&unit, &lines, &count) != 0) return;
  for (size_t i = 0; i + 1 < count; ++i) {
    Dwarf_Line* row = dwarf_onesrcline(lines, i);
    Dwarf_Addr start = 0, end = 0, before = 0;
    bool is_end = false;
    int line = 0;
    if (dwarf_lineaddr(row, &start) != 0 || dwarf_lineaddr(dwarf_onesrcline(lines, i + 1), &end) != 0) continue;
    if (start >= end || dwarf_lineendsequence(row, &is_end) != 0 || is_end || dwarf_lineno(row, &line) != 0) continue;
    const char* path = dwarf_linesrc(row, nullptr, nullptr);
    if (!path) continue;
    const bool is_shared = i > 0 && dwarf_lineaddr(dwarf_onesrcline(lines, i - 1), &before) == 0 && before == start;
    use({start, end, path, line > 0 ? uint32_t(line) : 0, is_shared});
  }
}

LineTable read_line_table(Dwarf_Die& unit) {
  LineTable table;
  Files files(table);
  for_each_line_row(unit, [&](const LineRow& row) {
    const LineRange range{row.start, row.end, files.index_of(row.path), row.line, row.is_shared};
    LineRange* last = table.ranges.empty() ? nullptr : &table.ranges.back();
    if (last && last->end == range.start && last->file == range.file && last->line == range.line)
      last->end = range.end;
    else
      table.ranges.push_back(range);
  });
  return table;
}

}  // namespace prof
