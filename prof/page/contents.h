// What a page holds of a profile: a document with all texts, and columns of numbers (packed.h).
//
// The document, whose texts are fit to be printed (libprof/printable.h):
//
//     part       whose calls they are; "" if it is of all
//     program    without folders
//     header     the lines above the table of functions
//     begun      when the first process began, nanoseconds since 1970; null if that is not known
//     remarks    on the profiles
//     hz         cycles of all times here in a second
//     clock      the same, or 0 if that is not known
//     chance     of times from samples: the variance of a sum is that of its parts if each came by chance alone, less
//                this times its square (SampleValue::correct_variances); else 0
//     measures   what is known of contexts, as in export/contexts.h: time, processor, waiting, calls; the first is the
//                main one
//     names      what these are called
//     table      titles and rows of the table of functions. A row begins with the number of its function
//     functions  arrays by function: name, raw (the name in the symbol table; "" if it is the same), module, address
//     modules    their names
//     timeline   when samples were taken (timeline.h); null if that is not known
//
// Columns of nodes.: parent, function and those below. The first node is the root, its own parent, and a node comes
// after its parent. Columns of sums.: those below, by function; known (1: its calls are counted, 2: its total time is
// known). Of two runs there are those of cpu.nodes. and cpu.sums., too, of times on a processor.
//
//     calls
//     flags           1 reached by jumps, 2 calls are estimated; doubtful are 4 calls, 8 self time, 16 total time
//     self            cycles, and so all that follow
//     self_low        self - the low end of its range, signed; without what chance adds
//     self_high       the high end - self, signed
//     total           total - what is expected of it: self and the totals of the children, signed
//     total_low       the low end - what is expected of it, likewise, signed
//     total_high      the same of the high end
//     self_error      the standard error of self; where times are estimates
//     total_error
//     self_waiting    where what was waited is known
//     total_waiting   - what is expected of it, signed
//
// Of sums, where nothing is below, the expected total is self.

#ifndef PROF_PAGE_CONTENTS_H
#define PROF_PAGE_CONTENTS_H

#include "packed.h"
#include "prof/model/analysis/analysis.h"

namespace prof {

// Packs an analysis; not the end of the stream.
void pack(const Analysis& analysis, Packed& packed);

}  // namespace prof

#endif
