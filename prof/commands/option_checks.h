// Which options go together: what a parsed command line means as a whole.

#ifndef PROF_COMMANDS_OPTION_CHECKS_H
#define PROF_COMMANDS_OPTION_CHECKS_H

#include "options.h"

namespace prof {

// Chooses the view if the command line names none (`view_chosen`): the tree if something is said of it, none if only
// files are written. Throws UsageError if options exclude each other.
void settle(Options& o, bool view_chosen);

}  // namespace prof

#endif
