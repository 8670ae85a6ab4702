// Decoding finds the right track by itself after a few instructions, and functions start at aligned addresses: so we
// start at each aligned address, and stop when we come to an instruction that has been decoded already.

#include "linear_sweep.h"

#include "encoding.h"

namespace profld {

void linear_sweep(const Image& image, OldRange range, const FoundInstruction& found) {
  auto bytes = image.bytes(range.start, range.size());
  if (!bytes) return;
  DecodeCache& cache = DecodeCache::of_this_thread();
  std::vector<bool> decoded(bytes->size());
  for (uint64_t from = 0; from < bytes->size();
       from = align_up((range.start + from).value + 1, kCodeAlignment) - range.start.value)
    for (uint64_t at = from; at < bytes->size() && !decoded[at];) {
      decoded[at] = true;
      const CachedInsn* in = cache.find(bytes->subspan(at));
      if (!in) break;
      const OldAddr next = range.start + at + in->insn.length;
      std::optional<OldAddr> target;
      if (in->is_relative) target = next + uint64_t(in->immediate.read(bytes->data() + at));
      at += in->insn.length;
      found(next - in->insn.length, *in, target);
    }
}

}  // namespace profld
