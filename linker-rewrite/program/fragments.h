// Groups: a range of code together with all ranges that it shares control with. See fragments.cc.

#ifndef LINKER_REWRITE_PROGRAM_FRAGMENTS_H
#define LINKER_REWRITE_PROGRAM_FRAGMENTS_H

#include <vector>

#include "program.h"

namespace profld {

// Decodes all ranges, tells fragments from functions, and groups what belongs together. `frame_tables`: the words in
// them are no pointers to code (and become Program::frame_tables).
Program group_functions(const Image& image, const EhFrame& frames, std::vector<CodeRange> ranges,
                        FrameTables frame_tables = {});

// Joins the group `g` and that of `fragment`, which turns out to belong to it.
void add_fragment(Program& program, uint32_t g, uint32_t fragment);

// True if a direct jump from `from` (an instruction at `at`) to `target` leaves the function for good: a tail call,
// perhaps of itself.
bool is_tail_call(const Program& program, const CodeRange& from, OldAddr at, OldAddr target);

// True if a direct jump from `from` (an instruction at `at`) to `target`, in the middle of another range, is a tail
// call: another function begins there, and the jump leaves no frame behind.
bool jumps_to_inner_entry(const Program& program, const CodeRange& from, OldAddr at, OldAddr target);

// True if another function follows the last instruction of `from`. To run on into that function is a tail call.
bool runs_into_function(const Program& program, const CodeRange& from);

}  // namespace profld

#endif
