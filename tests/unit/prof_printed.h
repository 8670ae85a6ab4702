// What the views print of an analysis, as text.

#ifndef TESTS_UNIT_PROF_PRINTED_H
#define TESTS_UNIT_PROF_PRINTED_H

#include <stdlib.h>

#include <cstdio>
#include <string>

#include "prof/model/analysis.h"
#include "prof/views/output.h"
#include "prof/views/views.h"
#include "prof_fixture.h"

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

inline std::string flat(const prof::Analysis& a) {
  return printed([&](prof::Output& out) { prof::print_flat(a, out); });
}
inline std::string tree(const prof::Analysis& a, prof::TreeOptions options = {}) {
  unsetenv("tabstop");
  return printed([&](prof::Output& out) { prof::print_tree(a, options, out); });
}

}  // namespace prof_test

#endif
