// The calling context tree and the table that finds its edges.
//
// One function in one calling context is a Node; its children form a list. The list is for readers. The runtime looks a
// child up in a hash table of the thread, keyed by (parent, pc), so that a function with 10^5 different callees is as
// fast as one with two; the one entered last (Node::last) is tried first.
//
// Bounds. Recursion would make the tree as deep as the stack, and a program may have more calling contexts than fit in
// memory. So a call is FOLDED onto the nearest ancestor of the same function when that function stands on the path to
// the root kLongestRecursion times, or when there is no room for a node. A function that has no such ancestor is then
// given a node below the root, and all its calls without a place are folded onto that. Counts and self times stay
// exact; what becomes coarser is the context. Folded edges are in the table like others.
//
// A tail call's node is a child of the node of the function that jumped, and told from the node of calls by a bit of
// its pc. Tail calls may go on for ever (a machine of states that jump to one another), so one is folded onto a node of
// the same function that was reached by tail calls alone since the last call: the tree is as deep as there are
// functions. It is not folded onto the one that was called, so that the count of that one is the number of calls.
//
// An eighth of node_limit is kept for those nodes below the root, but it is no bound for them: each thread gets one for
// each function that needs one, and its root. They come from a reserve of the thread, which is filled before the disk
// is full. A call is counted as lost only when that reserve is used up, or in a handler that interrupts its refilling
// and calls more new functions than there are spare nodes.

#ifndef LIBPROF_TREE_H
#define LIBPROF_TREE_H

#include "libprof/data/state.h"

namespace libprof {

inline constexpr uint32_t kLongestRecursion = 64;
inline constexpr uint64_t kSpareNodes = 8;

// How many nodes of the header's node_limit are for contexts.
inline uint64_t limit_of_contexts(const Header* h) { return h->node_limit - h->node_limit / 8; }

// The node for a call of `pc` from `parent`, or for a tail call if that has kTailCall; makes it if there is none. 0 if
// none can be had. A slow path.
Block find_or_make_child(State* s, Block parent, uint64_t pc);

// The same if there is one; else 0.
Block find_child(State* s, Block parent, uint64_t pc);

// The node for an address at which a sample found the thread, below Thread::addresses; makes it if there is none. 0 if
// none can be had. A slow path.
Block find_or_make_address(State* s, uint64_t address);

// Blocks in a row from the thread's supply for contexts, for what nodes refer to. 0 if none can be had now. A slow
// path.
Block take_blocks_in_row(State* s, uint64_t count);
// Whether none will ever be had.
inline bool has_no_more_blocks(const State* s) { return s->nodes.is_empty; }

// Which block the thread keeps for all nodes of a pc, which is without the kind of call; 0 if none. The first of two
// that are kept for one stays. A slow path.
Block block_kept_for(State* s, uint64_t pc);
void keep_block_for(State* s, uint64_t pc, Block block);

// Makes sure that the thread has a few spare nodes, from a supply that has many. They are for the hooks of a handler
// that interrupts the refilling of a supply, because that cannot be begun a second time. A heavy path.
void set_aside(State* s);

// Puts an edge into a table that has room for it.
void insert(Link* table, Block parent, uint64_t pc, Block child);

// Adds `distance` to each pc in the table that lies in [start, end). With the lock of the process; the table may be
// that of another thread, which goes on using it.
void move_links(State* s, uint64_t start, uint64_t end, uint64_t distance);

// Makes the first table of a thread, or empties the one it has. A heavy path.
void begin_table(State* s);

}  // namespace libprof

#endif
