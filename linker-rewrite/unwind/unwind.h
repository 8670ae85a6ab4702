// Unwind tables for the output.
//
// Debuggers read only one section named .eh_frame, and elfutils expects all records that the search table
// (.eh_frame_hdr) lists to be in that section. So the new section is complete: it describes the copies, and also the
// original text again. It replaces the old section, which stays only for code that holds its address (crtbeginT.o
// registers it). The original's tables of handlers (LSDAs) remain true for the original text, and the new section
// refers to them where they are.

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

// New code with nothing on the stack but the return address, everywhere: functions, one behind the other, that call
// others but never throw.
struct FramelessCode {
  NewAddr start;
  uint64_t size = 0;  // bytes; 0 if there is none
};

// Why no new tables can be written for a copy of this range. Nullopt if they can: the CFA programs and LSDAs of all
// FDEs that overlap it are understood, and mean the same elsewhere. To be asked before the range is copied.
std::optional<Reason> why_not_rewritable(const Image& image, const EhFrame& frames, OldRange range);

// The three sections are placed one after the other, each aligned to 8 bytes, eh_frame at `at`. Ranges without FDE get
// none for their copies; if an FDE covers only a part of a range, the new one covers only that part of the copy.
// `added` may be null; its code has no handlers. Throws Error if the output would be too large.
UnwindTables write_unwind(const Image& image, const EhFrame& frames, const CopyMap& copies, const AddedCode* added,
                          NewAddr at, FramelessCode frameless = {});

// Address of each section for write_unwind's result placed at `at`.
struct UnwindPlaces {
  NewAddr eh_frame, except_table, eh_frame_hdr, end;
};
UnwindPlaces unwind_places(const UnwindTables& tables, NewAddr at);

}  // namespace profld

#endif
