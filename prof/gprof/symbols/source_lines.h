// Which line of the source an address is of, and in which function, inlined ones as well: the tables of lines of debug
// information (DWARF, by libdw), and the functions there. And lines as gprof -l has them, in the place of functions.
//
// gprof asks its library the same for each byte of the program. Here the answers are made once, as ranges of addresses
// with one answer each.
//
// The file may be damaged in any way; libdw checks its own bounds.

#ifndef PROF_GPROF_SYMBOLS_SOURCE_LINES_H
#define PROF_GPROF_SYMBOLS_SOURCE_LINES_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "prof/gprof/graph/call_graph.h"
#include "prof/model/program/debug_files.h"

namespace prof::gprof {

struct SourceRange {
  uint64_t start = 0, end = 0;  // link-time
  uint32_t file = 0;            // index into SourceLines::files
  unsigned line = 0;            // not 0
  uint32_t function = 0;        // index into SourceLines::functions; that of "" if it is unknown
};

class SourceLines {
 public:
  // What the file's own debug information says; nothing if it has none. `search`: for files that it refers to.
  SourceLines(const ElfFile& file, const DebugSearch& search);

  // Why it cannot be read, or not all of it; else "".
  const std::string& problem() const { return problem_; }

  // By address. Two that are next to each other are not of the same line, file and function.
  const std::vector<SourceRange>& ranges() const { return ranges_; }
  const std::vector<std::string>& files() const { return files_; }          // paths, absolute where that is known
  const std::vector<std::string>& functions() const { return functions_; }  // as linkers call them

  // The range that an address is in, or null.
  const SourceRange* find(uint64_t address) const;

 private:
  std::vector<SourceRange> ranges_;
  std::vector<std::string> files_, functions_;
  std::string problem_;
};

// gprof -l: lines of the source in the place of functions. Each stretch of code of one line is a symbol of its own,
// with the name of its function.

// Addresses of the first and the last byte of a program's section .text, the only one of which gprof asks for lines.
// Both are 0 if it has none.
struct TextBounds {
  uint64_t first = 0, last = 0;
};
TextBounds text_bounds(const ElfFile& file);

// Sets file and line of functions, as the tables of lines have them for the first instruction.
void add_first_lines(std::vector<Function>& functions, const SourceLines& lines);

// Functions, and the lines that begin after their first instructions, by address. Calls lead to functions only.
std::vector<Function> line_symbols(const std::vector<Function>& functions, const SourceLines& lines, TextBounds text);

}  // namespace prof::gprof

#endif
