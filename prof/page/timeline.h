// When the time of a run was spent, in a page: of a profile of prof run. Its samples have times
// (prof/sample/timeline.h).
//
// The member `timeline` of the document:
//
//     slice, length   seconds, of a slice and of the run
//     sample          cycles that a sample stands for
//     weight          how many samples came at once
//     kernel          whether samples in the kernel were taken, too
//     threads         of those that have samples, the busiest first: name, process, number
//
// Columns, each sample of which there are `samples` alike, in the order of time:
//
//     timeline.slice    less that of the one before
//     timeline.thread   by its place in `threads`
//     timeline.node     as in the columns nodes.
//     timeline.samples

#ifndef PROF_PAGE_TIMELINE_H
#define PROF_PAGE_TIMELINE_H

#include <nlohmann/json.hpp>

#include "packed.h"
#include "prof/model/analysis/analysis.h"

namespace prof {

// The member of the document; null if nothing is known.
nlohmann::ordered_json timeline_of(const Analysis& analysis);

// Its columns, if it is not null.
void pack_timeline(const Analysis& analysis, Packed& packed);

}  // namespace prof

#endif
