// What the table of functions says of inlined ones.

#ifndef PROF_VIEWS_INLINED_H
#define PROF_VIEWS_INLINED_H

#include <cstdint>
#include <string>
#include <vector>

#include "prof/model/analysis/analysis.h"
#include "text_columns.h"

namespace prof {

// What to say before the table, a line without its end; "" if inlined functions were not asked for.
std::string inlined_heading(const Analysis& analysis);

// Lines below that of a function: where it stands in the source, and what was inlined into it. Printable.
std::vector<TextWithName> inlined_lines(const Analysis& analysis, uint32_t function);

}  // namespace prof

#endif
