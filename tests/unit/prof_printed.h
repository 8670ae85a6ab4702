// What the views print of an analysis, as text.

#ifndef TESTS_UNIT_PROF_PRINTED_H
#define TESTS_UNIT_PROF_PRINTED_H

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "prof/model/analysis/analysis.h"
#include "prof/views/run/views.h"
#include "prof/views/text/output.h"
#include "tests/unit/prof_fixture.h"

namespace prof_test {

template <class Print>
std::string printed(Print print) {
  TemporaryDirectory dir;
  std::FILE* file = std::fopen((dir / "out").c_str(), "w");
  prof::Output out(file, "out");
  print(out);
  out.finish();
  std::fclose(file);
  return read_file(dir / "out");
}

// Without a header, as in a pipe.
inline std::string flat(const prof::Analysis& a, prof::TableOptions options = {.has_header = false}) {
  return printed([&](prof::Output& out) { prof::print_flat(a, options, out); });
}
// What a table without a header has in the row of that name and below that title; "" if there is no such row.
inline std::string cell(const std::string& table, const std::string& title, const std::string& name) {
  std::istringstream lines(table);
  size_t column = std::string::npos;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('\t')));
    const std::vector<std::string> cells(std::istream_iterator<std::string>(words), {});
    if (column == std::string::npos) column = size_t(std::find(cells.begin(), cells.end(), title) - cells.begin());
    if (line.ends_with("\t" + name)) return column < cells.size() ? cells[column] : "";
  }
  return "";
}

inline std::string tree(const prof::Analysis& a, prof::TreeOptions options = {}) {
  unsetenv("tabstop");
  return printed([&](prof::Output& out) { prof::print_tree(a, options, out); });
}

}  // namespace prof_test

#endif
