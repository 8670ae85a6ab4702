// gprof's index: all functions by name, in three columns, with their numbers in the call graph.

#include "order.h"
#include "report.h"
#include "text.h"

namespace prof::gprof {

namespace {

constexpr size_t kColumns = 3;

}  // namespace

// One cell of a line. `column': how many characters the line has; not all, as gprof counts, which forgets two blanks.
// `start': where the cell is to begin.
std::string Report::index_cell(uint32_t function, size_t& column, size_t start) const {
  const Function& f = graph_.functions[function];
  const std::string number = formatted(f.is_printed ? "[%u]" : "(%u)", f.index);
  const bool is_cycle = graph_.is_cycle(function);
  if (options_.bsd)
    return formatted("%6.6s ", number.c_str()) +
           formatted("%-19.19s", is_cycle ? name(function).c_str() : f.name.c_str());
  std::string text;
  column += number.size();
  for (; column < start + 5; ++column) text += ' ';
  text += " " + number + " ";
  const std::string shown = name(function);
  text += shown;
  column += shown.size();
  if (is_cycle || options_.lines || !f.is_static || f.file.empty()) return text;
  const std::string file = source_name(function);
  column += file.size() + 3;
  return text + " (" + file + ")";
}

void Report::print_index() {
  out_.text("\f\nIndex by function name\n\n");
  const std::vector<uint32_t> functions = by_name(graph_, options_.unused);
  const size_t lines = (functions.size() + kColumns - 1) / kColumns, width = (options_.width - 1) / kColumns;
  for (size_t line = 0; line < lines; ++line) {
    size_t column = 0, start = 0;
    for (size_t i = line; i < functions.size(); i += lines, start += width)
      out_.text(index_cell(functions[i], column, start));
    out_.text("\n");
  }
}

}  // namespace prof::gprof
