// prof -G and prof --fallacy: gprof's report of a profile, or of a gmon.out, and where gprof would be wrong.

#ifndef PROF_COMMANDS_SHOWING_GPROF_REPORT_H
#define PROF_COMMANDS_SHOWING_GPROF_REPORT_H

#include <string>
#include <vector>

#include "prof/commands/options/options.h"
#include "prof/model/analysis/analysis.h"
#include "prof/views/text/output.h"

namespace prof {

// For -G: with the times that were measured, or those that gprof would have computed (--propagated).
void print_gprof_report(const Options& options, const Analysis& analysis, Output& out);

// Whether one of the arguments is a gmon.out. It has no tree, so there is one report only that can be made of it.
bool names_gmon_file(const Options& options);

// -G of PROGRAM gmon.out ...; without a program it is a.out. Throws Error if they cannot be used.
void print_gprof_report_of_files(const Options& options, Output& out);

}  // namespace prof

#endif
