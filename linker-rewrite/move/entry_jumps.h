// Where control may still arrive in the old text of functions that moved, and the jumps that lead it to the copies.

#ifndef LINKER_REWRITE_MOVE_ENTRY_JUMPS_H
#define LINKER_REWRITE_MOVE_ENTRY_JUMPS_H

#include <vector>

#include "linker-rewrite/program/fragments.h"

namespace profld {

// A jump in the old text. `from` and what it overwrites lie in functions that moved, or in the padding after them.
struct EntryJump {
  OldAddr arrival;  // where control arrives: an instruction of a range that moved; the jump leads to this one's copy
  OldAddr from;     // where the jump starts: at `arrival`, or after what is kept there (length_kept_at_entry)
  OldAddr island;   // 0: a 5-byte jump at `from`. Else a 2-byte jump at `from` to a 5-byte jump here.
  uint32_t range;
};

// Finds all places and room for their jumps. Groups that cannot be reached any more once moved get a reason to stay.
std::vector<EntryJump> place_entry_jumps(Program& program);

}  // namespace profld

#endif
