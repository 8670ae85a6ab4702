// Unwind tables for the output.
//
// Debuggers read one section named .eh_frame and no other; elfutils expects every record that the search table
// (.eh_frame_hdr) names in that one section. So the new section is complete: it describes the copies, and the original
// text once more, and replaces the old section, which only stays for those who hold its address (crtbeginT.o registers
// it). What the original's handlers' tables (LSDAs) say about the original text remains true, and is referred to where
// it is.

#ifndef LINKER_REWRITE_UNWIND_UNWIND_H
#define LINKER_REWRITE_UNWIND_UNWIND_H

#include "eh_frame.h"
#include "linker-rewrite/base/copy_map.h"

namespace profld {

struct UnwindTables {
  Bytes eh_frame;      // CIEs and FDEs of the copies and of the original, with terminator
  Bytes except_table;  // LSDAs of the copies
  Bytes eh_frame_hdr;  // sorted table over the new FDEs
};

// Code of another file that has become part of the output (the runtime, in static programs).
struct AddedCode {
  const Image* image;
  EhFrame frames;
  CopyMap copies;
};

// Nothing if new tables can be written for a copy of this range: the CFA programs and LSDAs of all FDEs that overlap it
// are understood, and mean the same elsewhere. Else the reason why not. Asked before the range is copied at all.
std::optional<Reason> why_not_rewritable(const Image& image, const EhFrame& frames, OldRange range);

// The three sections are placed one after the other, each aligned to 8 bytes, eh_frame at `at`. Copies without FDE get
// none; where a range is only partly covered by an FDE, so is its copy. `added` may be null; its code has no handlers.
// Throws Error if the output would be too large.
UnwindTables write_unwind(const Image& image, const EhFrame& frames, const CopyMap& copies, const AddedCode* added,
                          NewAddr at);

// Address of each section for write_unwind's result placed at `at`.
struct UnwindPlaces {
  NewAddr eh_frame, except_table, eh_frame_hdr, end;
};
UnwindPlaces unwind_places(const UnwindTables& tables, NewAddr at);

}  // namespace profld

#endif
