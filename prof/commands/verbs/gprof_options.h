// The command line of `prof gprof`, which is gprof's: a letter or a word means what it means there.
//
// The options that choose an output, or a part of one, work together as gprof's do: the first of them turns the usual
// outputs off, -P, -Q, -J and -Z without an argument only those that they name. prof-gprof(1) has them all.

#ifndef PROF_COMMANDS_VERBS_GPROF_OPTIONS_H
#define PROF_COMMANDS_VERBS_GPROF_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

#include "prof/gprof/symbols/choose_symbols.h"

namespace prof {

// A set of these: one bit for each.
using GprofOutputs = unsigned;
enum GprofOutput : unsigned {
  output_flat = 1,
  output_graph = 2,
  output_counts = 4,
  output_source = 8,
  output_file_info = 16,
  output_sum = 32,
  output_function_order = 64,
  output_file_order = 128,
};

struct GprofOptions {
  GprofOutputs outputs = 0;    // asked for
  GprofOutputs not_usual = 0;  // of which an option says yes or no, so that they are no default
  gprof::Specs specs;          // -p, -P, -q, -Q, -C, -Z, -A, -J, -n, -N, -k, -e, -E, -f, -F
  bool brief = false;          // -b: without the explanation of fields
  bool traditional = false;    // -T
  bool no_static = false;      // -a
  enum class StaticCalls : uint8_t { none, of_gprof, all };
  StaticCalls static_calls = StaticCalls::none;  // -c
  bool chains = false;                           // --chains
  bool functions_only = false;                   // -D
  bool lines = false;                            // -l
  bool unused = false;                           // -z
  bool full_paths = false;                       // -L
  bool file_names = false;                       // --inline-file-names
  bool all_lines = false;                        // -x
  bool separate_files = false;                   // -y
  bool demangle = true;
  unsigned debug = 0;                // -d: bits, gprof::Trace::Level
  uint64_t least_count = 1;          // -m
  unsigned table_length = 10;        // -t
  unsigned width = 80;               // -w
  std::string object_map;            // -R: a file that says which function is in which object file
  std::string symbols_file;          // -S
  std::string format = "auto";       // -O: auto, magic, bsd or 4.4bsd
  std::vector<std::string> folders;  // -I, and GPROF_PATH: where sources may be
  bool help = false, version = false;
  std::string program = "a.out";
  std::vector<std::string> profiles = {"gmon.out"};
};

// Throws UsageError. `argv[0]` is skipped. What is to be said to the user, of options that change nothing, is added to
// `remarks`.
GprofOptions parse_gprof_options(int argc, char** argv, std::vector<std::string>& remarks);

// prof gprof --help
std::string gprof_help_text();

}  // namespace prof

#endif
