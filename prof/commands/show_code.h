// The views of code, as options ask for them.

#ifndef PROF_COMMANDS_SHOW_CODE_H
#define PROF_COMMANDS_SHOW_CODE_H

#include "options.h"
#include "prof/model/analysis/analysis.h"
#include "prof/views/text/output.h"

namespace prof {

// One that print_code prints.
bool is_of_code(Options::View view);

// Prints it, and says what is missing. Functions that were never called are added to the analysis. Throws Error if the
// options name functions, and there are none of these.
void print_code(const Options& options, Analysis& analysis, Output& out);

}  // namespace prof

#endif
