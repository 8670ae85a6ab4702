// Takes out of a profile what was recorded while recording was off (recording.h), by lists of counters.

#ifndef PROF_READ_COUNTERS_H
#define PROF_READ_COUNTERS_H

#include <vector>

#include "libprof/format/control_list.h"
#include "profile.h"

namespace prof {

// All counters that are not 0, sorted by block. Nodes with impossible counts are not among them, and the functions
// below leave these as they are, so that others find and report them.
std::vector<BlockCounters> list_counters(const Calls& calls);

// Subtracts the counters of a list from those in `calls`. No counter gets less than 0: one that was read while the
// program ran may be a little too large. `header` is the profile's, `list` is sorted by block.
void subtract_counters(Calls& calls, const prof_format::Header& header, const std::vector<BlockCounters>& list);

// Puts the counters of a list in the place of all those in `calls`.
void replace_counters(Calls& calls, const prof_format::Header& header, const std::vector<BlockCounters>& list);

// Takes the nodes out of the trees that have neither calls nor time, nor have any below them. Does nothing if links
// between nodes are broken.
void leave_out_empty_nodes(Calls& calls);

}  // namespace prof

#endif
