// Decodes bytes when nothing says where their instructions start, or whether they are code at all. Decoding finds the
// right track by itself after a few instructions, and functions start at aligned addresses: so we start at each aligned
// address, and stop when we come to an instruction that has been decoded already.

#ifndef LINKER_REWRITE_X86_LINEAR_SWEEP_H
#define LINKER_REWRITE_X86_LINEAR_SWEEP_H

#include <algorithm>
#include <optional>
#include <vector>

#include "decode_cache.h"
#include "encoding.h"
#include "linker-rewrite/elf/image.h"

namespace profld {

// Calls `found` for each instruction that `range` may have and that decoding comes to from a start in `part`; some of
// them may overlap. `part` is the range or a piece of it, cut at aligned addresses (pieces_to_sweep). Instructions
// after the part may be found, and be found again for the next one. `found` takes the address of an instruction, what
// it is (a CachedInsn, valid until the next one is looked up), and its target if it names one relative to itself
// (std::optional<OldAddr>).
template <class Found>
void linear_sweep(const Image& image, OldRange range, OldRange part, Found found) {
  const auto bytes = image.bytes(part.start, range.end - part.start);
  if (!bytes) return;
  DecodeCache& cache = DecodeCache::of_this_thread();
  std::vector<bool> decoded(part.size());
  const auto is_done = [&](uint64_t at) {
    return at < decoded.size() ? decoded[at] : (part.start + at).value % kCodeAlignment == 0;
  };
  for (uint64_t from = 0; from < part.size();
       from = align_up((part.start + from).value + 1, kCodeAlignment) - part.start.value)
    for (uint64_t at = from; at < bytes->size() && !is_done(at);) {
      if (at < decoded.size()) decoded[at] = true;
      const CachedInsn* in = cache.find(bytes->subspan(at));
      if (!in) break;
      const OldAddr start = part.start + at, next = start + in->insn.length;
      std::optional<OldAddr> target;
      if (in->is_relative) target = next + uint64_t(in->immediate.read(bytes->data() + at));
      at += in->insn.length;
      found(start, *in, target);
    }
}

template <class Found>
void linear_sweep(const Image& image, OldRange range, Found found) {
  linear_sweep(image, range, range, found);
}

// A piece of a range to sweep, for work on all cores.
struct PieceToSweep {
  OldRange range, part;
};
inline std::vector<PieceToSweep> pieces_to_sweep(const std::vector<OldRange>& ranges) {
  constexpr uint64_t kPiece = 1 << 16;  // bytes; a multiple of the alignment of code
  std::vector<PieceToSweep> pieces;
  for (OldRange range : ranges)
    for (OldAddr at = range.start; at < range.end;) {
      const OldAddr end = std::min(range.end, OldAddr(align_up(at.value + 1, kPiece)));
      pieces.push_back({range, {at, end}});
      at = end;
    }
  return pieces;
}

}  // namespace profld

#endif
