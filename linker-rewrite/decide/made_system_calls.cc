#include "made_system_calls.h"

#include <algorithm>
#include <atomic>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/ranges.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/system_calls.h"

namespace profld {

namespace {

bool may_make(const Code& code, std::span<const int64_t> numbers) {
  for (size_t i = 0; i < code.insns.size(); ++i) {
    const ByteView bytes = code.bytes_of(code.insns[i]);
    const CachedInsn* cached = DecodeCache::of_this_thread().find(bytes);
    if (!cached || !cached->enters_kernel()) continue;
    if (!is_system_call(bytes)) return true;
    const int64_t number = system_call_number(code, i);
    if (number < 0 || std::ranges::find(numbers, number) != numbers.end()) return true;
  }
  return false;
}

}  // namespace

bool any_code_outside_functions(const Program& program, bool (*is_wanted)(uint8_t, uint8_t)) {
  std::vector<OldRange> outside;
  for (const OldRange& code : program.image->code()) append_uncovered(outside, code, program.ranges, &CodeRange::range);
  return std::ranges::any_of(outside, [&](const OldRange& range) {
    const auto bytes = program.image->bytes(range.start, range.size());
    return bytes && std::ranges::adjacent_find(*bytes, is_wanted) != bytes->end();
  });
}

bool may_make_system_call(const Program& program, std::span<const int64_t> numbers) {
  std::atomic<bool> found = false;
  parallel_for(program.groups.size(), [&](size_t g) {
    if (found) return;
    for (const Code& code : program.groups[g].code.parts)
      if (may_make(code, numbers)) found = true;
  });
  return found || any_code_outside_functions(program, may_enter_kernel);
}

}  // namespace profld
