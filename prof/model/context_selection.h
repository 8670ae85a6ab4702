// Which contexts of a profile are shown, by the names of functions that they go through.

#ifndef PROF_MODEL_CONTEXT_SELECTION_H
#define PROF_MODEL_CONTEXT_SELECTION_H

#include <string>
#include <vector>

namespace prof {

// Patterns of names, as of fnmatch(3). Of several patterns in a list one has to match.
struct ContextSelection {
  std::vector<std::string> focus = {};    // contexts through one of these functions; all if empty
  std::vector<std::string> ignore = {};   // but none through one of these
  std::vector<std::string> callers = {};  // of what is left: who called these functions (callers_of in contexts.h)
  std::vector<std::string> callees = {};  // or what they called (callees_of)

  bool leaves_out() const { return !focus.empty() || !ignore.empty() || !callees.empty(); }
  bool is_any() const { return leaves_out() || !callers.empty(); }
};

struct Analysis;

// Does that to the trees and the sums of an analysis, and notes what it was, and what all functions together were before,
// in Analysis::contexts. Sums are of the contexts that are left; with `callers` they stay, since a tree of callers says
// nothing of other functions.
void select_contexts(Analysis& analysis, const ContextSelection& selection);

// What is wrong with a selection: no function of an analysis matches the patterns of an option that says what is shown.
// "" if nothing is.
std::string problem_of(const ContextSelection& selection, const Analysis& analysis);

}  // namespace prof

#endif
