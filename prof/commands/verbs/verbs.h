// The commands of prof, each in a file of its own here.

#ifndef PROF_COMMANDS_VERBS_VERBS_H
#define PROF_COMMANDS_VERBS_VERBS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "prof/commands/options/options.h"
#include "prof/model/program/debug_files.h"
#include "prof/views/compare/difference.h"

namespace prof {

// prof run: rewrite, run and show in one command.

// Runs options.arguments (a program and its arguments) profiled, and prints its profile on standard error, since
// standard output is the program's. Returns the program's exit status; if a signal killed the program, kills this
// process with it too. Throws Error if the program could not be rewritten or started.
int run(Options options);

// prof diff: what is different between two builds of a program, or between two runs.

struct DiffOptions {
  enum class View { table, latency, tree, json, none };
  View view = View::table;
  std::string view_option;   // that names the view; empty: none does
  std::string html;          // file for a page; empty: none
  bool with_source = false;  // the source is in the page, too
  DifferenceOptions shown;
  bool raw_names = false;
  bool raw_times = false;
  bool no_inlined = false;
  bool help = false;
  // A function that became slower by more than this part of all the time of A, in percent, is a failure.
  std::optional<double> fail_above;
  // Of each side: its runs, as choose.h takes a profile, a folder or a process; each after the program that it is of,
  // or not. All of them are in the first list if the command line does not tell the sides apart.
  std::array<std::vector<std::string>, 2> arguments;
};

// Throws UsageError. `argv[0]` is skipped.
DiffOptions parse_diff_options(int argc, char** argv);

std::string diff_help_text();

// Prints the difference. Returns the command's exit status: 1 if a part of a profile was damaged, 3 if there is a
// failure as DiffOptions::fail_above says. Throws Error if the sides cannot be compared.
int diff(const DiffOptions& options);

// prof compare: a program as it is, as profld profiles it, and as gcc -pg does, side by side.

struct CompareOptions {
  unsigned runs = 3;        // of each
  std::string pg;           // the program as gcc -pg built it; empty: none
  bool true_times = false;  // one more run, with samples
  bool json = false;
  bool wide = false;
  bool raw_names = false;
  size_t rows = 20;    // functions that are shown
  std::string type;    // PROFTYPE; empty: as the environment has it
  std::string output;  // file for what is printed; empty: standard error
  bool help = false;
  std::vector<std::string> arguments;  // the program and its arguments
};

// Throws UsageError. `argv[0]` is skipped.
CompareOptions parse_compare_options(int argc, char** argv);

std::string compare_help_text();

// Runs all of them in turn, and prints what they took and what was found. Ends, or returns an exit status, as the first
// run did; 1 if the program could not be rewritten. Throws Error if one cannot be started.
int compare(const CompareOptions& options);

// prof top: what a running program is doing now.

struct TopOptions {
  std::string subject;  // the process's number, or its profile
  double interval = 1;  // seconds between two looks
  uint64_t times = 0;   // tables to print; 0: until the program ends
  size_t rows = 0;      // of each table; 0: as many as the terminal has room for, 20 without one
  bool raw_names = false, wide = false;
  bool raw_times = false;
  bool help = false;
};

// Throws UsageError. `argv[0]` is skipped.
TopOptions parse_top_options(int argc, char** argv);

std::string top_help_text();

// Prints, for every interval, the functions by the time that they took in it: on a terminal one table in place of the
// other, else one after the other. Returns when the program has ended. Throws Error if there is no such profile.
int top(const TopOptions& options);

// prof tui: a profile to look around in, on a terminal.

struct TuiOptions {
  std::vector<std::string> arguments;  // as choose.h takes them
  double interval = 1;                 // seconds between two looks at a running program
  bool raw_names = false, wide = false;
  bool raw_times = false;
  DebugSearch debug_files;
  bool help = false;
};

// Throws UsageError. `argv[0]` is skipped.
TuiOptions parse_tui_options(int argc, char** argv);

std::string tui_help_text();

// Shows the profile until the user quits. Returns the command's exit status: 1 if a part of it was damaged. Ends the
// program by a signal that asked for that, when the terminal is as it was. Throws Error if there is no such profile,
// UsageError if there is no terminal.
int run_tui(const TuiOptions& options);

// prof ctl: limits what is recorded of a running program.

struct ControlOptions {
  enum class Command { on, off, reset, status };
  Command command = Command::status;
  std::string subject;  // the number of a process or the path of a profile
  bool help = false;
};

// argv[0] is skipped. Throws UsageError.
ControlOptions parse_control_options(int argc, char** argv);

std::string control_help_text();

// Returns the command's exit status. Throws Error if recording cannot be changed.
int control(const ControlOptions& options);

// prof gprof: gprof's command line and its outputs, of files gmon.out and of profiles.

// `argv[0]` is the word gprof. Returns the command's exit status. Throws UsageError, and Error if what is named cannot
// be read or does not have what is asked for.
int run_gprof(int argc, char** argv);

// profld --libs: a program with its libraries, in a folder that may be taken to another machine.

// Makes the folder options.output for the program options.arguments[0], as prof run --libs would run it: with the
// libraries that it starts with here, and those that it was seen to load by prof run with the same options. Returns an
// exit status: 1 if the program could not be rewritten, or has no libraries. Throws Error for other failures; then
// nothing is left.
//
// In the folder are the copies, those files that are used as they are, the dynamic linker among them, and run-NAME, a
// script that starts the program. Whatever the folder's path, and whatever C library the other machine has, they belong
// together.
int pack(const Options& options);

}  // namespace prof

#endif
