// Where gprof would have been wrong.
//
// gprof takes each call of a function to have cost as much as the others. A function that is called cheaply from one place
// and dearly from another is then shown with the wrong caller. Since the tree knows what the calls took, the two can be
// compared arc by arc. Left out are arcs within cycles, of which gprof says nothing.

#ifndef PROF_GPROF_REPORT_FALLACY_H
#define PROF_GPROF_REPORT_FALLACY_H

#include <optional>

#include "prof/model/analysis/analysis.h"
#include "prof/views/text/output.h"

namespace prof::gprof {

// A table of arcs, the greatest difference first. `most_rows': only so many; none: those that differ by a thousandth of
// the whole time at least.
void print_fallacy(const Analysis& analysis, std::optional<size_t> most_rows, Output& out);

}  // namespace prof::gprof

#endif
