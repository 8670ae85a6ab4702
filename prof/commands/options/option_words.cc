#include "option_words.h"

namespace prof {

namespace {

// `own` and the options of both commands, as getopt_long takes them.
std::vector<option> with_common(std::vector<option> own) {
  own.insert(own.end(), {{"json", no_argument, nullptr, option_json},
                         {"processes", no_argument, nullptr, option_processes},
                         {"suggest", no_argument, nullptr, option_suggest},
                         {"annotate", optional_argument, nullptr, option_annotate},
                         {"disassemble", required_argument, nullptr, option_disassemble},
                         {"call-sites", no_argument, nullptr, option_call_sites},
                         {"raw-names", no_argument, nullptr, option_raw_names},
                         {"wide", no_argument, nullptr, 'w'},
                         {"module", required_argument, nullptr, option_module},
                         {"function", required_argument, nullptr, option_function},
                         {"not-function", required_argument, nullptr, option_not_function},
                         {"by-module", no_argument, nullptr, option_by_module},
                         {"callers", required_argument, nullptr, option_callers},
                         {"callees", required_argument, nullptr, option_callees},
                         {"focus", required_argument, nullptr, option_focus},
                         {"ignore", required_argument, nullptr, option_ignore},
                         {"sort", required_argument, nullptr, option_sort},
                         {"percent", required_argument, nullptr, option_percent},
                         {"all", no_argument, nullptr, option_all},
                         {"depth", required_argument, nullptr, option_depth},
                         {"chains", no_argument, nullptr, option_chains},
                         {"propagated", no_argument, nullptr, option_propagated},
                         {"fallacy", no_argument, nullptr, option_fallacy},
                         {"gprof-symbols", required_argument, nullptr, option_gprof_symbols},
                         {"gprof-blocks", no_argument, nullptr, option_gprof_blocks},
                         {"inlined", no_argument, nullptr, option_inlined},
                         {"debug-dir", required_argument, nullptr, option_debug_folder},
                         {"folded", no_argument, nullptr, option_folded},
                         {"csv", no_argument, nullptr, option_csv},
                         {"dot", no_argument, nullptr, option_dot},
                         {"callgrind", required_argument, nullptr, option_callgrind},
                         {"pprof", required_argument, nullptr, option_pprof},
                         {"speedscope", required_argument, nullptr, option_speedscope},
                         {"output", required_argument, nullptr, 'o'},
                         {"rows", required_argument, nullptr, 'n'},
                         {"no-header", no_argument, nullptr, option_no_header},
                         {"help", no_argument, nullptr, 'h'},
                         {nullptr, 0, nullptr, 0}});
  return own;
}

}  // namespace

const std::vector<option> kProfOptions = with_common({
    {"true", required_argument, nullptr, option_samples},
    {"version", no_argument, nullptr, 'V'},
});

const std::vector<option> kRunOptions = with_common({
    {"report", required_argument, nullptr, option_report},
    {"auto", no_argument, nullptr, option_automatic},
    {"true", no_argument, nullptr, option_true},
    {"check", no_argument, nullptr, option_check},
    {"type", required_argument, nullptr, option_type},
    {"dir", required_argument, nullptr, option_dir},
    {"cache-size", required_argument, nullptr, option_cache_size},
    {"min-size", required_argument, nullptr, option_min_size},
    {"no-leaves", no_argument, nullptr, option_no_leaves},
    {"blocks", no_argument, nullptr, 'b'},
    {"trace", optional_argument, nullptr, option_trace},
    {"discover", no_argument, nullptr, option_discover},
    {"imports", no_argument, nullptr, option_imports},
    {"no-imports", no_argument, nullptr, option_no_imports},
    {"libs", optional_argument, nullptr, option_libraries},
    {"libs-all", no_argument, nullptr, option_libraries_all},
    {"libs-only", optional_argument, nullptr, option_libraries_only},
});

// As profld has them.
const std::vector<option> kPackOptions = {
    {"output", required_argument, nullptr, 'o'},
    {"blocks", no_argument, nullptr, 'b'},
    {"only", required_argument, nullptr, 'F'},
    {"not", required_argument, nullptr, 'N'},
    {"min-size", required_argument, nullptr, option_min_size},
    {"no-leaves", no_argument, nullptr, option_no_leaves},
    {"all", no_argument, nullptr, option_libraries_all},
    {"libs", optional_argument, nullptr, option_libraries},
    {"debug-dir", required_argument, nullptr, option_debug_folder},
    {nullptr, 0, nullptr, 0},
};

}  // namespace prof
