// Functions that find data after the call that called them.

#ifndef LINKER_REWRITE_DECIDE_INLINE_DATA_H
#define LINKER_REWRITE_DECIDE_INLINE_DATA_H

#include <vector>

#include "linker-rewrite/program/program.h"

namespace profld {

// The call at `at` in the group `group` leads to a function that reads the bytes after it, or skips them.
struct InlineData {
  uint32_t group;
  OldAddr at;
};

struct InlineDataUse {
  std::vector<InlineData> calls;
  std::vector<uint32_t> skipping;  // groups that return elsewhere than after the call
};

// Finds all that can be seen, in a fixed order.
InlineDataUse find_inline_data(const Program& program);

}  // namespace profld

#endif
