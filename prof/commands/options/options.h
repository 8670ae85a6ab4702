// What the command lines of prof and of prof run mean (Options), and how they and that of profld --libs are read; and
// the arguments of options that other commands have as well, from text to values.

#ifndef PROF_COMMANDS_OPTIONS_OPTIONS_H
#define PROF_COMMANDS_OPTIONS_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libprof/profile_type.h"
#include "linker-rewrite/options/command_line.h"
#include "prof/views/run/order.h"
#include "prof/views/run/views.h"

namespace prof {

struct Options {
  // folded, csv, dot: exports that are printed; none: only files were asked for.
  enum class View {
    flat,
    tree,
    modules,
    latency,
    json,
    folded,
    csv,
    dot,
    suggestion,
    gprof,
    fallacy,
    annotation,
    disassembly,
    call_sites,
    none
  };
  View view = View::flat;
  std::string view_option;       // that names the view; empty: none does
  TableOptions table;            // -n and --no-header
  std::optional<SortKey> order;  // --sort
  TreeOptions tree;
  ContextSelection contexts;
  std::optional<double> percent;                      // --percent: what has less is left out
  bool all = false;                                   // --all: on a terminal, too
  bool propagated = false;                            // --propagated: -G with times as gprof computes them
  std::string gmon;                                   // file for -g; empty: none
  bool gprof_blocks = false;                          // --gprof-blocks: -g has counts of blocks in the file itself
  std::string gprof_symbols;                          // file for --gprof-symbols
  std::vector<std::string> modules;                   // --module: patterns of those to show; all if empty
  std::vector<std::string> functions, not_functions;  // --function and --not-function: patterns
  DebugSearch debug_files;                            // --debug-dir; prof run: also where the program lies
  bool inlined = false;                               // --inlined
  bool no_inlined = false;                            // --no-inlined
  std::string html, callgrind, pprof, speedscope, llvm_profile, gcc_profile, bolt;  // files for these options
  bool with_source = false;                                                         // --with-source: --html has it, too
  bool raw_names = false;
  bool wide = false;  // names are written out, neither simplified nor cut
  bool raw_times = false;
  Apart apart = Apart::nothing;
  std::optional<uint32_t> process;  // -p: only the profiles of this one
  std::string output;               // file for what is printed; empty: a stream. profld --libs: the folder to make
  bool help = false;
  bool version = false;

  // prof: what is left. prof run: the program and its arguments.
  std::vector<std::string> arguments;

  // prof: a file of samples, which times are taken from.
  std::string samples;

  // prof run: samples of the program as it is, and then a run that counts; with `check` their outputs are compared.
  bool true_times = false;
  bool check = false;
  // prof run: options for profld.
  std::vector<std::string> rewriting;       // -F and -N with their patterns, --min-size and others
  bool blocks = false;                      // -b is among them
  bool trace = false;                       // --trace is
  std::string report;                       // file for --report
  std::string type;                         // PROFTYPE; empty: as the environment has it
  std::string folder;                       // --dir: where the run leaves its profiles
  uint64_t cache_size = uint64_t(4) << 30;  // bytes that rewritten programs may take
  // prof run: profile shared libraries as well: those whose names match one of these, or all if there are none.
  std::optional<std::vector<std::string>> libraries;
  bool libraries_only = false;  // not the program's own functions
};

// Whether a view is one of source or of instructions.
bool is_of_code(Options::View view);

// Throw UsageError for what they do not know. `argv[0]` is skipped.
Options parse_prof_options(int argc, char** argv);
Options parse_run_options(int argc, char** argv);
Options parse_pack_options(int argc, char** argv);

// The arguments of options, from text to values. All throw UsageError, with the option's name, for a text that is none.

// --type: a value of PROFTYPE. prof run has one more, which is none of the runtime's.
inline constexpr const char* kAutoType = libprof::kSampledFromOutside;
std::string type_of_run(const prof_options::Given& given);
std::string type_of(const prof_options::Given& given);
// --sort
SortKey sort_key_of(const prof_options::Given& given);

}  // namespace prof

#endif
