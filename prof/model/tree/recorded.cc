#include "recorded.h"

namespace prof {

bool occurs(const Recorded& recorded, uint32_t f) {
  // Of a gmon.out it may be known that a function called others, and no more.
  auto is_any = [&](const FunctionSum& sum) {
    return sum.calls != 0 || sum.self != 0 || sum.self_waiting != 0 || (recorded.is_gmon() && sum.total != 0);
  };
  return is_any(recorded.sums[f]) || (recorded.cpu && is_any(recorded.cpu->sums[f]));
}

}  // namespace prof
