#include "unknown_code.h"

#include <algorithm>

#include "linker-rewrite/base/address.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/x86/linear_sweep.h"

namespace profld {

std::vector<OldRange> code_outside_functions(const Program& program) {
  std::vector<OldRange> ranges;
  for (const OldRange& code : program.image->code()) append_uncovered(ranges, code, program.ranges, &CodeRange::range);
  return ranges;
}

OldAddr end_of_no_operations(const Image& image, OldAddr at, OldAddr limit, bool* several_bytes) {
  while (at < limit) {
    const CachedInsn* in =
        DecodeCache::of_this_thread().find(*image.bytes(at, std::min<uint64_t>(limit - at, kMaxInstructionLength)));
    if (!in || !in->is_no_operation()) break;
    *several_bytes |= in->insn.length > 2;
    at += in->insn.length;
  }
  return at;
}

// Of the no-operations after an instruction that passes control on for good those are fillings that reach an aligned
// address, or the end of the unknown bytes. One of a single byte proves nothing there, since the decoding is blind.
UnknownCode find_unknown_code(const Program& program) {
  const Image& image = *program.image;
  UnknownCode unknown{code_outside_functions(program), CodeSet(image.code()), {}, {}};
  const std::vector<PieceToSweep> pieces = pieces_to_sweep(unknown.ranges);
  struct Found {
    OldRange range;
    bool is_filling;  // else it is an address in a function, the start of the range
  };
  const std::vector<Found> found = parallel_collect<Found>(
      pieces.size(),
      [&](size_t i, std::vector<Found>& out) {
        const OldAddr limit = pieces[i].range.end;
        linear_sweep(image, pieces[i].range, pieces[i].part,
                     [&](OldAddr at, const CachedInsn& in, std::optional<OldAddr> target) {
                       if (target && program.range_of(*target) >= 0)
                         out.push_back({{*target, *target}, false});
                       else if (target)
                         unknown.named.add(*target);
                       if (!in.ends_control()) return;
                       bool several_bytes = false;
                       const OldAddr start = at + in.insn.length;
                       const OldAddr end = end_of_no_operations(image, start, limit, &several_bytes);
                       if (several_bytes && (end == limit || end.value % kCodeAlignment == 0))
                         out.push_back({{start, end}, true});
                     });
      },
      8);
  for (const Found& f : found)
    if (f.is_filling)
      unknown.fillings.push_back(f.range);
    else
      unknown.into_functions.push_back(f.range.start);
  parallel_sort(unknown.fillings, [](OldRange a, OldRange b) { return a.start < b.start; });
  parallel_sort(unknown.into_functions);
  unknown.into_functions.erase(std::unique(unknown.into_functions.begin(), unknown.into_functions.end()),
                               unknown.into_functions.end());
  return unknown;
}

}  // namespace profld
