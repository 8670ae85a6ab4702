// Code that no table describes, and what leads there from elsewhere.

#ifndef LINKER_REWRITE_DISCOVER_ROOTS_H
#define LINKER_REWRITE_DISCOVER_ROOTS_H

#include <vector>

#include "linker-rewrite/program/program.h"

namespace profld {

// Code outside of all entries of unwind tables, and without the linker's stubs; ascending, not overlapping.
std::vector<OldRange> undescribed_code(const Program& program);

// The range that contains `a`; null if there is none. `ranges` must be ascending.
const OldRange* range_with(const std::vector<OldRange>& ranges, OldAddr a);

struct Roots {
  std::vector<OldAddr> starts;    // certainly functions: called, exported, or known by a symbol
  std::vector<OldAddr> pointers;  // addresses of functions or of labels
  // At a fixed address: words of data that may be such addresses; ascending. `written`: in data that the program can
  // write to.
  std::vector<OldAddr> in_data, written;
  // True if anything but the start-up and finalization code of the compiler leads to code that neither tables nor
  // symbols describe. (crtbegin.o, which is in every program, has no tables.)
  bool any = false;
};

Roots find_roots(const Program& program, const std::vector<OldRange>& undescribed);

}  // namespace profld

#endif
