// What a page holds of two profiles, A and B, as prof diff compares them: what contents.h says of one, of B, on one
// tree that has the contexts of both; beside it the same columns of A; and what of the difference is noise.
//
// The document has no threads and no clock, and these besides:
//
//     runs       of how many runs A is, and B. Calls are those of all of them, times the mean of each
//     hz         into how many parts a second is divided in columns
//     measures   time and calls are of B, time_a and calls_a of A
//     table      has "sum", too: the cells of all functions together
//
// Columns of nodes. and of sums., of B: calls, flags, self and total, where there are times. The last number of each
// column of sums. is of all functions together, whose total is the self time of all. The same of a.nodes. and a.sums.;
// and of change.nodes. and change.sums. these:
//
//     marks       1 what calls changed is known, 2 self, 4 total; 8 it is in A, 16 in B
//     self_low    how far what changed may be below what it seems to be (Change::range)
//     self_high   and above
//     total_low
//     total_high
//
// A function with time in no context has one, as if nobody had called it.

#ifndef PROF_PAGE_TWO_PROFILES_H
#define PROF_PAGE_TWO_PROFILES_H

#include <string>
#include <vector>

#include "packed.h"
#include "prof/model/compare/difference.h"

namespace prof {

// Packs a difference with contexts, and what there is to say of the profiles; not the end of the stream.
void pack(const Difference& difference, const std::vector<std::string>& remarks, Packed& packed);

}  // namespace prof

#endif
