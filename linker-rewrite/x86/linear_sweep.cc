#include "linear_sweep.h"

namespace profld {

std::vector<PieceToSweep> pieces_to_sweep(const std::vector<OldRange>& ranges) {
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
