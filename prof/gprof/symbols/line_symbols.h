// gprof -l: lines of the source in the place of functions. Each stretch of code of one line is a symbol of its own, with
// the name of its function.

#ifndef PROF_GPROF_SYMBOLS_LINE_SYMBOLS_H
#define PROF_GPROF_SYMBOLS_LINE_SYMBOLS_H

#include <vector>

#include "prof/gprof/graph/call_graph.h"
#include "source_lines.h"

namespace prof::gprof {

// Addresses of the first and the last byte of a program's section .text, the only one of which gprof asks for lines. Both
// are 0 if it has none.
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
