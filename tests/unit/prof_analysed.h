// A hand-made run and what prof makes of it.

#ifndef TESTS_UNIT_PROF_ANALYSED_H
#define TESTS_UNIT_PROF_ANALYSED_H

#include <string>
#include <utility>

#include "prof/model/analysis/analysis.h"
#include "tests/unit/prof_fixture.h"

namespace prof_test {

// The run of a program of lettered functions, whose profile is written when it is analysed.
class AnalysedRun : public LetteredRun {
 public:
  explicit AnalysedRun(std::string name = "prof.1") : name_(std::move(name)) {}
  prof::Analysis analyse(bool raw_times = false) {
    writer.write(dir / name_);
    prof::Input input;
    input.profiles = {dir / name_};
    input.raw_times = raw_times;
    input.durations = true;
    return prof::analyse(input);
  }

 private:
  std::string name_;
};

// A tree in one line: name:calls:self:total, children in parentheses.
inline std::string text_of(const prof::Tree& tree, const prof::FunctionTable& functions, uint32_t node = 0) {
  std::string s;
  for (uint32_t c = tree.nodes[node].first_child; c != 0; c = tree.nodes[c].next_sibling) {
    const prof::CallNode& n = tree.nodes[c];
    s += (s.empty() ? "" : " ") + functions.functions()[n.function].name + ":" + std::to_string(n.calls) + ":" +
         std::to_string(n.self) + ":" + std::to_string(n.total);
    if (n.first_child) s += "(" + text_of(tree, functions, c) + ")";
  }
  return s;
}

// Of the function of that name; all zeros if there is none.
inline prof::FunctionSum sum_of(const prof::Analysis& a, const std::string& name) {
  for (size_t f = 0; f < a.sums.size(); ++f) {
    if (a.functions.functions()[f].name == name) return a.sums[f];
  }
  return {};
}

}  // namespace prof_test

#endif
