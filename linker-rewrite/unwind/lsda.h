// Tables of exception handlers. An FDE leads to a "language-specific data area" (LSDA), whose form all compilers for
// Linux share (Itanium C++ ABI, exception handling, level II; nowhere specified to the byte: see libgcc's unwind-c.c):
//
//   header           where landing pads are counted from (LPStart; the function's start if omitted), the encodings,
//                    where the type table ends
//   call sites       ranges of code, ascending: landing pad (0: none) and first action; code in no range must not throw
//   actions          chains of filters: 0 clean up, positive: catch by that entry of the type table, negative: an
//                    exception specification
//   types            growing downwards from its end, the base: entry i lies i entries below
//   specifications   lists of types, growing upwards from the base
//
// Nothing says how long the last three are; only following every chain tells. Actions and specifications do not depend
// on where code lies, and are copied as they are. Landing pads may lie in another fragment of the function.

#ifndef LINKER_REWRITE_UNWIND_LSDA_H
#define LINKER_REWRITE_UNWIND_LSDA_H

#include <optional>
#include <vector>

#include "eh_frame.h"
#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/x86/record_code.h"

namespace profld {

struct CallSite {
  OldRange range;
  OldAddr landing_pad;  // 0 if none
  uint64_t action;      // offset + 1 in the action table, 0 if none
};

struct Lsda {
  std::vector<CallSite> call_sites;  // as in the file: ascending
  ByteView actions;                  // in the image's bytes
  bool has_types = false;
  // Entries 1, 2, ... of the type table: addresses of type descriptions, or of words that hold those; 0 for catch
  // (...).
  std::vector<OldAddr> types;
  bool types_indirect = false;
  ByteView exception_specs;  // in the image's bytes
};

// Reads the table of an FDE that has one. nullopt if it is not understood or damaged: then the function stays.
std::optional<Lsda> read_lsda(const Image& image, const EhFrame& frames, const Fde& fde);

// A part of an FDE's range, and where it went.
struct PartCopy {
  OldRange part;          // inside both the FDE's range and the copy's original
  const RangeCopy* copy;  // null: it stayed where it was

  NewAddr start() const { return map(part.start); }
  NewAddr end() const;
  // The address in the copy where the code from `a` on (inclusive) begins, including the hooks before it. An address
  // before the part gives the part's start.
  NewAddr map(OldAddr a) const;
};

// Appends the table for a part's copy to `out`, whose first byte lies at `base`. Throws Error if something is too far
// away.
void append_lsda(Bytes& out, NewAddr base, const Lsda& lsda, const PartCopy& part, const CopyMap& copies);
// The same for records out of line of a copy, at least one, ascending by place: each is in the call site that its place
// is in.
void append_lsda(Bytes& out, NewAddr base, const Lsda& lsda, const RangeCopy& copy,
                 std::span<const PlacedRecord> records, const CopyMap& copies);

}  // namespace profld

#endif
