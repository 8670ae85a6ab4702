#include "last_calls.h"

#include "linker-rewrite/x86/encoding.h"
#include "program.h"

namespace profld {

std::optional<OldAddr> target_of_last_call(const Image& image, OldRange range) {
  const auto code = image.bytes(range.start, range.size());
  const auto displacement = code ? displacement_of_last_call(*code) : std::nullopt;
  if (!displacement) return std::nullopt;
  return range.end + uint64_t(int64_t{*displacement});
}

LastCalls::LastCalls(const Program& program) {
  const auto is_in_front_of_function = [&](const CodeRange& r) {
    const ptrdiff_t next = program.range_of(r.range.end);
    return next >= 0 && program.ranges[size_t(next)].is_function() &&
           program.ranges[size_t(next)].range.start == r.range.end;
  };
  for (const CodeRange& r : program.ranges) {
    if (!r.fde || (r.fde->made && !is_in_front_of_function(r))) continue;
    if (const auto target = target_of_last_call(*program.image, r.range)) add(*target);
  }
}

}  // namespace profld
