// Where control may come to inside functions, beside the ways that a function's own branches, tables and ends of
// instructions show: what a flow graph (flow_graph.h) has to know of the rest of the program.

#ifndef LINKER_REWRITE_BLOCKS_ARRIVALS_H
#define LINKER_REWRITE_BLOCKS_ARRIVALS_H

#include <algorithm>
#include <vector>

#include "linker-rewrite/program/program.h"

namespace profld {

struct Arrivals {
  // Instructions at which control may arrive from other functions, from data, or from an unwinder. Entries of functions
  // are not all among them.
  std::vector<OldAddr> entered;  // ascending
  // Instructions of which some jump leaves out the first bytes (hand-written code jumps behind a lock prefix).
  std::vector<OldAddr> split;  // ascending

  bool is_entered(OldAddr a) const { return std::ranges::binary_search(entered, a); }
  bool is_split(OldAddr a) const { return std::ranges::binary_search(split, a); }
};

// Whether other code may be put before the instruction, which control comes to first wherever it comes to the instruction:
// not before ENDBR64, which indirect jumps have to find where they lead, nor before what some jump enters behind its first
// byte.
bool may_insert_before(const Code& code, const Insn& insn, const Arrivals& arrivals);

// `old_entries`: instructions whose originals lead to their copies.
Arrivals find_arrivals(const Program& program, const std::vector<OldAddr>& old_entries);

}  // namespace profld

#endif
