// The options of prof, prof run and prof pack as getopt_long takes them. What each does is in options.cc.

#ifndef PROF_COMMANDS_OPTIONS_OPTION_WORDS_H
#define PROF_COMMANDS_OPTIONS_OPTION_WORDS_H

#include <getopt.h>

#include <vector>

namespace prof {

// What getopt_long returns for a word that has no letter.
enum LongOption {
  option_json = 256,
  option_raw_names,
  option_module,
  option_function,
  option_not_function,
  option_by_module,
  option_gprof_symbols,
  option_gprof_blocks,
  option_debug_folder,
  option_inlined,
  option_folded,
  option_csv,
  option_dot,
  option_callgrind,
  option_pprof,
  option_speedscope,
  option_callers,
  option_callees,
  option_focus,
  option_ignore,
  option_sort,
  option_percent,
  option_propagated,
  option_fallacy,
  option_all,
  option_depth,
  option_chains,
  option_no_header,
  option_report,
  option_processes,
  option_suggest,
  option_annotate,
  option_disassemble,
  option_call_sites,
  option_type,
  option_dir,
  option_cache_size,
  option_automatic,
  option_true,
  option_samples,
  option_check,
  option_min_size,
  option_no_leaves,
  option_trace,
  option_discover,
  option_imports,
  option_no_imports,
  option_libraries,
  option_libraries_all,
  option_libraries_only
};

extern const std::vector<option> kProfOptions, kRunOptions, kPackOptions;

}  // namespace prof

#endif
