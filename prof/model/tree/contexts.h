// Trees of calls made from others: some of the contexts, or all contexts of a function laid over each other, seen from
// the function down to what it calls or up to who called it.
//
// A function here takes a tree and says nothing of names: which functions are meant is said by number. Which contexts
// are left and what stands where depends on the shape of the tree only, never on times or calls, so two trees with the
// same nodes (waiting.h) stay alike. Numbers of calls and self times are sums of whole numbers and stay exact. The
// range of a total time (probe_cost.h) is wider where a part of the subtree is gone: it is then the sum of the ranges
// of the rest.
//
// Nothing here recurses. As in all trees, parents precede their children in Tree::nodes, and siblings stand in the
// order of their numbers.

#ifndef PROF_MODEL_TREE_CONTEXTS_H
#define PROF_MODEL_TREE_CONTEXTS_H

#include <cstdint>
#include <string>
#include <vector>

#include "tree.h"

namespace prof {

struct Recorded;

// Patterns of names, as of fnmatch(3). Of several patterns in a list one has to match.
struct ContextSelection {
  std::vector<std::string> focus = {};    // contexts through one of these functions; all if empty
  std::vector<std::string> ignore = {};   // but none through one of these
  std::vector<std::string> callers = {};  // of what is left: who called these functions (callers_of)
  std::vector<std::string> callees = {};  // or what they called (callees_of)

  bool leaves_out() const { return !focus.empty() || !ignore.empty() || !callees.empty(); }
  bool is_any() const { return leaves_out() || !callers.empty(); }
};

// The contexts of a recording that are left; all of them if the selection is empty.
struct SelectedContexts : ContextSelection {
  FunctionSum whole = {};      // calls and self times of all contexts, if a selection was made: what percentages are of
  uint32_t caller_levels = 0;  // of a tree of callers that was cut off: CallersTree::levels
};

// By function, whether it is meant.
using FunctionSet = std::vector<bool>;

// Only the contexts that go through one of the functions. The nodes that lead to them keep their calls, have no time of
// their own, and of total time what is below them.
Tree focus_on(const Tree& tree, const FunctionSet& functions);

// Without the contexts that go through one of the functions: total times of the others are less by theirs.
Tree leave_out(const Tree& tree, const FunctionSet& functions);

// What the functions called: below the root a node for each of them, with what is below it wherever nobody above it is
// one of them, laid over each other. So each call and each cycle is in the tree once.
Tree callees_of(const Tree& tree, const FunctionSet& functions);

struct CallersTree {
  Tree tree;
  uint32_t levels = 0;  // only so many levels of callers were followed, since the tree was getting too large; 0: all
};

// Who called the functions: below the root a node for each of them with all its calls and its self and total time,
// below it a node for each of its callers with the part of these that belongs to the calls from there, and so on up to
// those that nobody called. Calls and self time of a node are those of its children added up, and of calls that nobody
// made. The total time of an activation inside another one of the same function belongs to the outer one, as in
// FunctionSum: the chain that leads to the inner one has its calls and its self time, and no total time of it.
CallersTree callers_of(const Tree& tree, const FunctionSet& functions);

// Which contexts of a profile are shown, by the names of functions that they go through.

// Does that to the trees and the sums, and notes what it was, and what all functions together were before, in
// Recorded::contexts. Sums are of the contexts that are left; with `callers` they stay, since a tree of callers says
// nothing of other functions.
void select_contexts(Recorded& recorded, const ContextSelection& selection);

// What is wrong with a selection: no function of all that were recorded, also of those that it leaves out, matches the
// patterns of an option. "" if nothing is.
std::string problem_of(const ContextSelection& selection, const Recorded& recorded);

}  // namespace prof

#endif
