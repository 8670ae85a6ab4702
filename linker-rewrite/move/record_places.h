// Where the records of a trace are in a copy, for its unwind tables.

#ifndef LINKER_REWRITE_MOVE_RECORD_PLACES_H
#define LINKER_REWRITE_MOVE_RECORD_PLACES_H

#include <vector>

#include "linker-rewrite/unwind/placed_record.h"
#include "plan.h"

namespace profld {

// Ascending by offset: first those in the copy of the code; then what jumps with records lead to, and what full windows need,
// each ascending by place.
std::vector<PlacedRecord> record_places(const Code& code, const RangePlan& plan, const RangeCopy& copy);

}  // namespace profld

#endif
