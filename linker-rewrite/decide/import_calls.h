// Which calls of functions of other files get hooks: --imports, --no-imports. See import_calls.cc.

#ifndef LINKER_REWRITE_DECIDE_IMPORT_CALLS_H
#define LINKER_REWRITE_DECIDE_IMPORT_CALLS_H

#include <cstdint>

#include "linker-rewrite/program/program.h"
#include "selection.h"

namespace profld {

// How many calls of imported functions, and tail jumps to them, were found in the functions that the user selected.
struct ImportCallCounts {
  uint64_t calls = 0;          // that get hooks
  uint64_t tail_jumps = 0;     // that are counted
  uint64_t to_special = 0;     // left alone: of a function that returns twice, or that compilers call in their own way
  uint64_t from_unhooked = 0;  // left alone: from a function that stays
};

// Sets Group::import_calls and Program::imports. To be called when it is final which groups move.
ImportCallCounts select_import_calls(Program& program, const Selection& selection);

}  // namespace profld

#endif
