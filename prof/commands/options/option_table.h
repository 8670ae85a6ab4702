// The options of prof and of prof run, each once, and the help that is made of them. And, in a table of their own,
// those of profld that profld --libs hands on to prof.

#ifndef PROF_COMMANDS_OPTIONS_OPTION_TABLE_H
#define PROF_COMMANDS_OPTIONS_OPTION_TABLE_H

#include <string>

#include "linker-rewrite/options/command_line.h"
#include "options.h"

namespace prof {

using OptionTable = prof_options::Table<Options>;

// Bits of Option::commands, in the first four of the tables.
constexpr unsigned kOfProf = 1, kOfRun = 2;

// In the order in which help has them: of both commands, of prof run, of what is handed on to profld, and the last.
extern const OptionTable kViewOptions, kRunOptions, kRewritingOptions, kLastOptions;
// Of profld --libs.
extern const OptionTable kPackOptions;

// Bits of Option::views.
constexpr unsigned bit(Options::View view) { return 1u << unsigned(view); }

// "the table": as messages call a view.
const char* name_of(Options::View view);

// What prof --help prints.

// All commands and options, for a person.
std::string help_text();

}  // namespace prof

#endif
