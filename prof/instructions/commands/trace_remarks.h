// What the commands that read traces tell their user.

#ifndef PROF_INSTRUCTIONS_COMMANDS_TRACE_REMARKS_H
#define PROF_INSTRUCTIONS_COMMANDS_TRACE_REMARKS_H

#include "prof/instructions/trace/trace_names.h"
#include "prof/instructions/trace/trace_reader.h"

namespace prof {

// What is missing in a trace that was read, and what is wrong with the program's files.
void say_trace_remarks(const TraceReader& reader, const TraceNames& names);

}  // namespace prof

#endif
