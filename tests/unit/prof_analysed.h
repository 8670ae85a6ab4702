// A hand-made run and what prof makes of it.

#ifndef TESTS_UNIT_PROF_ANALYSED_H
#define TESTS_UNIT_PROF_ANALYSED_H

#include <string>
#include <utility>

#include "prof/model/analysis.h"
#include "prof_fixture.h"

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
    return prof::analyse(input);
  }

 private:
  std::string name_;
};

// Of the function of that name; all zeros if there is none.
inline prof::FunctionSum sum_of(const prof::Analysis& a, const std::string& name) {
  for (size_t f = 0; f < a.sums.size(); ++f) {
    if (a.functions.functions()[f].name == name) return a.sums[f];
  }
  return {};
}

}  // namespace prof_test

#endif
