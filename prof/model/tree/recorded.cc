#include "recorded.h"

namespace prof {

const char* type_name(const Recorded& recorded) {
  return recorded.is_gmon        ? "gmon"
         : recorded.sampled      ? "true"
         : recorded.cpu          ? "waiting"
         : !recorded.has_hooks   ? "addresses"
         : recorded.by_samples   ? "sample"
         : recorded.estimated    ? "adaptive"
         : recorded.has_waiting  ? "time"
         : recorded.on_processor ? "cpu"
         : recorded.timed        ? "elapsed"
                                 : "count";
}

bool occurs(const Recorded& recorded, uint32_t f) {
  // Of a gmon.out it may be known that a function called others, and no more.
  auto is_any = [&](const FunctionSum& sum) {
    return sum.calls != 0 || sum.self != 0 || sum.self_waiting != 0 || (recorded.is_gmon && sum.total != 0);
  };
  return is_any(recorded.sums[f]) || (recorded.cpu && is_any(recorded.cpu->sums[f]));
}

}  // namespace prof
