// Which contexts of a profile are shown, by the names of functions that they go through.

#ifndef PROF_MODEL_TREE_CONTEXT_SELECTION_H
#define PROF_MODEL_TREE_CONTEXT_SELECTION_H

#include <string>

#include "recorded.h"

namespace prof {

// Does that to the trees and the sums, and notes what it was, and what all functions together were before, in
// Recorded::contexts. Sums are of the contexts that are left; with `callers` they stay, since a tree of callers says
// nothing of other functions.
void select_contexts(Recorded& recorded, const ContextSelection& selection);

// What is wrong with a selection: no function of all that were recorded, also of those that it leaves out, matches the
// patterns of an option. "" if nothing is.
std::string problem_of(const ContextSelection& selection, const Recorded& recorded);

}  // namespace prof

#endif
