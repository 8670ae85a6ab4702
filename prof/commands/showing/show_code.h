// The views of code, as options ask for them.

#ifndef PROF_COMMANDS_SHOWING_SHOW_CODE_H
#define PROF_COMMANDS_SHOWING_SHOW_CODE_H

#include "prof/commands/options/options.h"
#include "prof/model/analysis/analysis.h"
#include "prof/views/text/output.h"

namespace prof {

// Prints the view of code that the options choose, and says what is missing. Functions that were never called are added to the analysis. Throws Error if the
// options name functions, and there are none of these.
void print_code(const Options& options, Analysis& analysis, Output& out);

}  // namespace prof

#endif
