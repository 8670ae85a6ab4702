// Code that takes the place of a call  function(start, end, how, 0), and makes the same call for further ranges after it.

#ifndef LINKER_REWRITE_X86_RANGE_CALLS_H
#define LINKER_REWRITE_X86_RANGE_CALLS_H

#include <vector>

#include "encoding.h"

namespace profld {

// A range that is known when the program runs: the two words before `anchor` hold the distances from it to the start and
// to the end of the range.
struct AnchoredRange {
  NewAddr anchor{};
  bool in_word = false;  // `anchor` is the address of a word that holds the anchor's
};

// Bytes of the code for so many ranges.
uint64_t size_of_range_calls(size_t ranges);

// Writes the code. It keeps what a called function has to keep, and returns what the last call returns.
void write_range_calls(InstructionWriter& writer, NewAddr function, const std::vector<NewRange>& ranges,
                       AnchoredRange last);

}  // namespace profld

#endif
