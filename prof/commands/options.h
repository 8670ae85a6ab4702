// The command line of prof and of prof run.

#ifndef PROF_COMMANDS_OPTIONS_H
#define PROF_COMMANDS_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "prof/views/views.h"

namespace prof {

struct Options {
  enum class View { flat, tree, modules, json, suggestion, none };  // none: only files were asked for
  View view = View::flat;
  TreeOptions tree;
  std::string gmon;                  // file for -g; empty: none
  std::string gprof_symbols;         // file for --gprof-symbols
  std::vector<std::string> modules;  // --module: patterns of those to show; all if empty
  bool raw_names = false;
  bool raw_times = false;
  Apart apart = Apart::nothing;
  std::optional<uint32_t> process;  // -p: only the profiles of this one
  bool help = false;
  bool version = false;

  // prof: what is left. prof run: the program and its arguments.
  std::vector<std::string> arguments;

  // prof: a file of samples, which times are taken from.
  std::string samples;

  // prof run: samples of the program as it is, and then a run that counts; with `check` their outputs are compared.
  bool true_times = false;
  bool check = false;
  // prof run: a counting run first, to leave out functions that would only measure the probe.
  bool automatic = false;
  // prof run: options for profld.
  std::vector<std::string> rewriting;  // -F and -N with their patterns, --min-size and others
  std::string report;                  // file for --report
  std::string output;                  // profld --libs: the folder to make
  // prof run: profile shared libraries as well: those whose names match one of these, or all if there are none.
  std::optional<std::vector<std::string>> libraries;
  bool libraries_only = false;  // not the program's own functions
};

// Throw UsageError for what they do not know. `argv[0]` is skipped.
Options parse_prof_options(int argc, char** argv);
Options parse_run_options(int argc, char** argv);
Options parse_pack_options(int argc, char** argv);

std::string help_text();

}  // namespace prof

#endif
