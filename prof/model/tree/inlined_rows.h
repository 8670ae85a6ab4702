// Gives inlined functions rows and nodes of their own, as far as debug information tells which instructions are of
// them.
//
// The samples of an instruction go to the innermost function that it is of, and no more to the one that has the code.
// What was inlined into another is below it in the tree of calls, and its total time is part of the other's. All places
// where a function was inlined are one row, "insert (inlined)". Nobody counts its calls.

#ifndef PROF_MODEL_TREE_INLINED_ROWS_H
#define PROF_MODEL_TREE_INLINED_ROWS_H

#include <string>
#include <vector>

#include "histogram.h"
#include "prof/model/program/functions.h"
#include "sampled.h"

namespace prof {

// `histogram`: the samples by address. To be called after leave_out_counters: the part of its samples that an inlined
// function has for its own is that of the functions that have its code.
void add_inlined_rows(const std::vector<AddressSamples>& histogram, const DebugSearch& search, FunctionTable& functions,
                      SampledTimes& times, std::vector<std::string>& remarks);

}  // namespace prof

#endif
