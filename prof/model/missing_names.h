// Modules whose functions have no names.

#ifndef PROF_MODEL_MISSING_NAMES_H
#define PROF_MODEL_MISSING_NAMES_H

#include <string>

#include "analysis.h"

namespace prof {

// What to tell the user, in a line that a terminal has room for: which modules were stripped, so that functions that were
// called are shown by their addresses; which debug file was looked for; and what to do. "" if there is none.
std::string remark_on_missing_names(const Analysis& analysis);

}  // namespace prof

#endif
