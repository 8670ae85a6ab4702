// Unwind tables for the output.
//
// Debuggers read only one section named .eh_frame, and elfutils expects all records that the search table
// (.eh_frame_hdr) lists to be in that section. So the new section is complete: it describes the copies, and also the
// original text again. It replaces the old section, which stays only for code that holds its address (crtbeginT.o
// registers it). The original's tables of handlers (LSDAs) remain true for the original text, and the new section
// refers to them where they are.
//
// Records of a trace (x86/record_code.h) are code of their own in a copy, or after it, out of line. Whoever unwinds
// from there, since a signal came, must find the frame as it is at the instruction in whose place the record stands:
// with the same callers, and the same handlers if the thread is cancelled or the signal's handler throws. So rows of
// records are those of their instructions, but for the stack pointer (register_rules.h). What is out of line has FDEs
// of its own, which tell the rows of the function again, as far as places in it have records; and tables of handlers,
// in which the code for a place is in the call site that the place is in. If the place is in none, the code is in none:
// there the program ends, as it would at the place itself.

#ifndef LINKER_REWRITE_UNWIND_UNWIND_H
#define LINKER_REWRITE_UNWIND_UNWIND_H

#include <functional>

#include "eh_frame.h"
#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/x86/record_code.h"

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

// New code with nothing on the stack but the return address, everywhere: functions, one after the other, that call
// others but never throw.
struct FramelessCode {
  NewAddr start;
  uint64_t size = 0;  // bytes; 0 if there is none
};

// The records of a copy, ascending by their offsets. Where, out of line, a place is below the one before, a new FDE
// begins.
using RecordsOf = std::function<std::vector<PlacedRecord>(const RangeCopy&)>;

// Why no new tables can be written for a copy of this range. Nullopt if they can: the CFA programs and LSDAs of all
// FDEs that overlap it are understood, and mean the same elsewhere. To be asked before the range is copied.
std::optional<Reason> why_not_rewritable(const Image& image, const EhFrame& frames, OldRange range);

// The three sections are placed one after the other, each aligned to 8 bytes, eh_frame at `at`. Ranges without FDE get
// none for their copies; if an FDE covers only a part of a range, the new one covers only that part of the copy.
// `added` may be null; its code has no handlers. `records_of` may be empty: there are none. They stand where their rows
// allow it (row_limits). Throws Error if the output would be too large.
UnwindTables write_unwind(const Image& image, const EhFrame& frames, const CopyMap& copies, const AddedCode* added,
                          NewAddr at, FramelessCode frameless = {}, const RecordsOf& records_of = {});

// Address of each section for write_unwind's result placed at `at`.
struct UnwindPlaces {
  NewAddr eh_frame, except_table, eh_frame_hdr, end;
};
UnwindPlaces unwind_places(const UnwindTables& tables, NewAddr at);

}  // namespace profld

#endif
