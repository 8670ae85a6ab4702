// What debug files and debug information tell of functions, and what they would if they were there.

#ifndef PROF_MODEL_ANALYSIS_SOURCES_H
#define PROF_MODEL_ANALYSIS_SOURCES_H

#include <string>
#include <vector>

#include "prof/model/program/debug_files.h"
#include "prof/model/tree/recorded.h"

namespace prof {

// What to tell the user, in a line that a terminal has room for: which modules were stripped, so that functions that were
// called are shown by their addresses; which debug file was looked for; and what to do. "" if there is none.
std::string remark_on_missing_names(const Recorded& recorded);

// Sets `sources` of what was recorded. What there is to tell of modules without debug information is added to the remarks.
void find_sources(Recorded& recorded, const DebugSearch& search, std::vector<std::string>& remarks);

// What to tell the user if one function has most of the time, and others were inlined into it; else "". It costs little:
// large debug information is not looked at.
std::string remark_on_inlining(const Recorded& recorded, const DebugSearch& search);

}  // namespace prof

#endif
