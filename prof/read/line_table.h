// The line table of a compiled file: which line of the source each instruction was made of.

#ifndef PROF_READ_LINE_TABLE_H
#define PROF_READ_LINE_TABLE_H

#include <elfutils/libdw.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace prof {

// A row of the table that has addresses. The path is the compiler's, and lives as long as the debug information.
struct LineRow {
  uint64_t start = 0, end = 0;  // link-time, not empty: a row holds up to the address of the next
  const char* path = nullptr;
  uint32_t line = 0;       // 0: of no line
  bool is_shared = false;  // the row in front of it begins at the same address, and is empty
};

// Calls `use` with each row of a compiled file, whose entry is `unit`: by address, as libdw has sorted them. With none if there is no
// table, or it is damaged.
void for_each_line_row(Dwarf_Die& unit, const std::function<void(const LineRow&)>& use);

// Code that was made of one line: addresses (link-time) from `start` up to `end`.
struct LineRange {
  uint64_t start = 0, end = 0;
  uint32_t file = 0;  // index into LineTable::files
  uint32_t line = 0;  // 0: of no line
  // Other lines have rows for `start' as well: the compiler moved or removed their instructions.
  bool is_shared = false;
};

struct LineTable {
  std::vector<LineRange> ranges;   // by address, not overlapping, none empty
  std::vector<std::string> files;  // paths, as the compiler saw them, without "." and ".."

  // What an address is of; null if nothing tells.
  const LineRange* find(uint64_t address) const;
};

// `unit`: the entry of a compiled file. Empty if there is no table, or it is damaged.
LineTable read_line_table(Dwarf_Die& unit);

}  // namespace prof

#endif
