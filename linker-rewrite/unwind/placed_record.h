// The code of a record of a trace where it stands in a copy, or what it has out of line; or an increment out of line.

#ifndef LINKER_REWRITE_UNWIND_PLACED_RECORD_H
#define LINKER_REWRITE_UNWIND_PLACED_RECORD_H

#include "linker-rewrite/base/address.h"
#include "linker-rewrite/x86/record_code.h"

namespace profld {

struct PlacedRecord {
  uint32_t at, size;  // offset in the copy, and bytes, with the jump after it
  OldAddr place;      // the instruction of the original whose row and handlers hold in it
  RecordCode code;
  bool is_full_window;  // it is the code for the record's full window
};

}  // namespace profld

#endif
