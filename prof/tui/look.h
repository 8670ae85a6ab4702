// What one look at a profile shows. A running program is looked at again and again, and each time functions may have other
// numbers: they are known again by their names and places.

#ifndef PROF_TUI_LOOK_H
#define PROF_TUI_LOOK_H

#include <cstdint>
#include <string>
#include <vector>

#include "prof/model/analysis/analysis.h"

namespace prof::tui {

struct Look {
  explicit Look(Analysis of);

  Analysis analysis;
  std::vector<std::string> names;  // by function, printable
};

constexpr uint32_t kNoFunction = UINT32_MAX;

// By function of one look, which it is in another; kNoFunction: it is not there.
std::vector<uint32_t> same_functions(const Look& before, const Look& after);

}  // namespace prof::tui

#endif
