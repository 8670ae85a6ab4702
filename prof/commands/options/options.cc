// The command line, option by option. Each of the functions take_... knows the options of one kind. What the options mean
// together is in settle.

#include "options.h"

#include "message.h"
#include "option_values.h"
#include "option_words.h"

namespace prof {

namespace {

// Which options go together: what a parsed command line means as a whole.

// What is said of rows, against the view that is shown.
void check_rows(const Options& o) {
  using View = Options::View;
  const bool is_table = o.view == View::flat || o.view == View::modules;
  const bool has_tree = o.view == View::tree || o.view == View::json;
  if (o.all && o.table.most_rows) throw UsageError("--all and -n exclude each other");
  if (!is_table && o.view != View::fallacy && o.table.most_rows) throw UsageError("-n is for the table and --fallacy");
  if (!is_table && !o.table.has_header) throw UsageError("--no-header is for the table");
  if (!is_table && !has_tree && (o.percent || o.order))
    throw UsageError("--percent and --sort are for the table, the tree and --json");
  if (o.view == View::modules && (o.order == SortKey::total || o.order == SortKey::per_call))
    throw UsageError("--by-module has no total times; it can be sorted by self, calls and name");
}

// gprof's report is of all functions and all calls of a run.
void check_gprof(const Options& o) {
  const bool is_of_gprof = o.view == Options::View::gprof || o.view == Options::View::fallacy;
  if (o.propagated && o.view != Options::View::gprof) throw UsageError("--propagated goes with -G");
  if (!is_of_gprof) return;
  if (!o.modules.empty()) throw UsageError("-G and --fallacy are of all modules; they exclude --module");
  if (o.contexts.is_any()) throw UsageError("-G and --fallacy are of all contexts; they exclude --focus and --ignore");
}

// Samples are of whole functions, of all threads and processes together, and of what hooks cost they know nothing.
void check_true_times(const Options& o) {
  if (o.check && !o.true_times) throw UsageError("--check compares two runs; it goes with --true");
  if (!o.true_times && o.samples.empty()) return;
  if (o.apart != Apart::nothing) throw UsageError("--true shows everything as one; it excludes -t and --processes");
  if (o.automatic) throw UsageError("--true and --auto exclude each other");
  if (!o.type.empty()) throw UsageError("--true and --type exclude each other: times are those of samples");
  if (o.libraries) throw UsageError("--true samples libraries as they are; it excludes --libs");
  if (o.view == Options::View::suggestion) throw UsageError("--true and --suggest exclude each other");
}

// Basic blocks are not timed, and a trace is of those of the program alone.
void check_blocks(const Options& o) {
  if (!o.blocks && !o.trace) return;
  const std::string given = o.blocks ? "-b" : "--trace";
  if (o.blocks && o.trace) throw UsageError("-b and --trace: give one of them; a trace has all counts");
  if (o.trace && o.libraries) throw UsageError("--trace is of the program's own blocks; it excludes --libs");
  if (o.true_times) throw UsageError(given + " and --true exclude each other");
  if (o.automatic) throw UsageError(given + " and --auto exclude each other");
}

// What files are written, and what is printed.
void check_exports(const Options& o) {
  using View = Options::View;
  const bool is_for_gprof = !o.gmon.empty() || !o.gprof_symbols.empty();
  if (o.gprof_blocks && o.gmon.empty()) throw UsageError("--gprof-blocks is of -g");
  if (o.apart != Apart::nothing && is_for_gprof)
    throw UsageError("-g and --gprof-symbols show everything as one; they exclude -t and --processes");
  if (o.apart != Apart::nothing && o.view == View::dot)
    throw UsageError("--dot shows everything as one; it excludes -t and --processes");
  if (!o.modules.empty() && (is_for_gprof || o.view == View::suggestion))
    throw UsageError("--module says what is printed; -g, --gprof-symbols and --suggest are of all modules");
  if (o.apart != Apart::nothing && is_of_code(o.view))
    throw UsageError(
        "--annotate, --disassemble and --call-sites show everything as one; they exclude -t and --processes");
  const bool is_of_all = o.view == View::folded || o.view == View::dot;
  if (!o.modules.empty() && (is_of_all || !o.callgrind.empty() || !o.pprof.empty() || !o.speedscope.empty()))
    throw UsageError("--module says what is printed; of the exports only --csv can leave modules out");
  if (!o.output.empty() && o.view == View::none)
    throw UsageError("--output says where that goes which is printed; here only files are written");
}

// The tree is shown if something is said of it and no view is named.
void choose_tree(Options& o, bool& view_chosen) {
  const bool is_of_lines = o.tree.whole_recursion || o.tree.chains || o.tree.sort;
  const bool is_of_tree = o.tree.pruning.depth != 0 || !o.contexts.callers.empty() || !o.contexts.callees.empty();
  if (!o.contexts.callers.empty() && !o.contexts.callees.empty())
    throw UsageError("--callers and --callees exclude each other");
  if (!is_of_lines && !is_of_tree) return;
  if (!view_chosen) {
    o.view = Options::View::tree;
    view_chosen = true;
  }
  if (o.view == Options::View::json && is_of_lines)
    throw UsageError("-r, -s and --chains are of what is printed as lines, not of --json");
  if (o.view != Options::View::json && o.view != Options::View::tree)
    throw UsageError("-r, -s, --chains, --depth, --callers and --callees show the tree, not --by-module or --suggest");
}

// Chooses the view if the command line names none (`view_chosen`): the tree if something is said of it, none if only
// files are written. Throws UsageError if options exclude each other.
void settle(Options& o, bool view_chosen) {
  choose_tree(o, view_chosen);
  if (o.order && o.view == Options::View::tree) o.tree.sort = o.order;
  const std::string files = o.gmon + o.gprof_symbols + o.callgrind + o.pprof + o.speedscope;
  if (!view_chosen && !files.empty()) o.view = Options::View::none;
  check_exports(o);
  if (o.inlined && o.view != Options::View::flat && o.view != Options::View::json)
    throw UsageError("--inlined adds to the table of functions or to --json");
  const bool shows_functions = o.view == Options::View::flat || o.view == Options::View::tree ||
                               o.view == Options::View::json || is_of_code(o.view);
  if ((!o.functions.empty() || !o.not_functions.empty()) && (!shows_functions || !files.empty())) {
    throw UsageError(
        "--function and --not-function say what is printed as a table, a tree, JSON or code; all else is of all "
        "functions");
  }
  if (o.contexts.is_any() && is_of_code(o.view))
    throw UsageError(
        "--focus, --ignore, --callers and --callees are of contexts; code is shown in all of them together");
  if (o.contexts.is_any() && (!o.gmon.empty() || !o.gprof_symbols.empty() || o.view == Options::View::suggestion)) {
    throw UsageError(
        "--focus, --ignore, --callers and --callees say what is printed; -g, --gprof-symbols and --suggest are of all");
  }
  check_rows(o);
  check_gprof(o);
  check_true_times(o);
  check_blocks(o);
}

// After getopt_long returned ':' or '?'.
UsageError error_of(int c, char** argv) {
  if (c == ':') return UsageError(std::string(argv[optind - 1]) + ": an argument is missing; see prof --help");
  // A letter that is no option is in optopt; a word is in argv only.
  const bool word = optopt == 0 || optopt >= 256;
  return UsageError((word ? std::string(argv[optind - 1]) : std::string("-") + char(optopt)) +
                    ": no such option; see prof --help");
}

// The view, as far as options have named it.
struct NamedView {
  Options& o;
  bool chosen = false;
  bool by_module = false;

  void choose(Options::View view) {
    if (chosen && o.view != view)
      throw UsageError(
          "-d, -G, --fallacy, --by-module, --json, --folded, --csv, --dot, --suggest, --annotate, --disassemble and "
          "--call-sites exclude each other");
    o.view = view;
    chosen = true;
  }
};

// Takes an option that says what is printed: a table, a tree, an export. Like all of these, returns false if it is none.
bool take_view(NamedView& view, int c, const std::string& argument) {
  switch (c) {
    case 'd':
      view.choose(Options::View::tree);
      return true;
    case option_by_module:
      view.by_module = true;
      return true;
    case option_json:
      view.choose(Options::View::json);
      return true;
    case option_folded:
      view.choose(Options::View::folded);
      return true;
    case option_csv:
      view.choose(Options::View::csv);
      return true;
    case option_dot:
      view.choose(Options::View::dot);
      return true;
    case option_suggest:
      view.choose(Options::View::suggestion);
      return true;
    case 'G':
      view.choose(Options::View::gprof);
      return true;
    case option_fallacy:
      view.choose(Options::View::fallacy);
      return true;
    case option_annotate:
      view.choose(Options::View::annotation);
      if (!argument.empty()) view.o.functions.push_back(argument);
      return true;
    case option_disassemble:
      view.choose(Options::View::disassembly);
      view.o.functions.push_back(argument);
      return true;
    case option_call_sites:
      view.choose(Options::View::call_sites);
      return true;
    default:
      return false;
  }
}

// Takes an option that names a file to write.
bool take_file(Options& o, int c, const std::string& argument) {
  switch (c) {
    case 'o':
      o.output = file_name("--output", argument);
      return true;
    case 'g':
      o.gmon = file_name("-g", argument);
      return true;
    case option_gprof_symbols:
      o.gprof_symbols = file_name("--gprof-symbols", argument);
      return true;
    case option_callgrind:
      o.callgrind = file_name("--callgrind", argument);
      return true;
    case option_pprof:
      o.pprof = file_name("--pprof", argument);
      return true;
    case option_speedscope:
      o.speedscope = file_name("--speedscope", argument);
      return true;
    default:
      return false;
  }
}

// Takes an option that says which rows of the table and which contexts are shown, and in which order.
bool take_selection(Options& o, int c, const std::string& argument) {
  switch (c) {
    case 'n':
      o.table.most_rows = parse_number<size_t>("-n", argument, 1, SIZE_MAX, "number greater than 0");
      return true;
    case option_sort:
      o.order = parse_sort_key(argument);
      return true;
    case option_percent:
      o.percent = parse_number<double>("--percent", argument, 0, 100, "number from 0 to 100");
      return true;
    case option_all:
      o.all = true;
      return true;
    case option_no_header:
      o.table.has_header = false;
      return true;
    case option_depth:
      o.tree.pruning.depth = parse_number<uint32_t>("--depth", argument, 1, UINT32_MAX, "number of levels");
      return true;
    case option_chains:
      o.tree.chains = true;
      return true;
    case option_module:
      o.modules.push_back(argument);
      return true;
    case option_function:
      o.functions.push_back(argument);
      return true;
    case option_not_function:
      o.not_functions.push_back(argument);
      return true;
    case option_callers:
      o.contexts.callers.push_back(argument);
      return true;
    case option_callees:
      o.contexts.callees.push_back(argument);
      return true;
    case option_focus:
      o.contexts.focus.push_back(argument);
      return true;
    case option_ignore:
      o.contexts.ignore.push_back(argument);
      return true;
    default:
      return false;
  }
}

// Takes an option that says how what is chosen is shown, and which of the profiles.
bool take_manner(Options& o, int c, const std::string& argument) {
  switch (c) {
    case 'r':
      o.tree.whole_recursion = true;
      return true;
    case 's':
      o.tree.sort = SortKey::total;
      return true;
    case 'R':
      o.raw_times = true;
      return true;
    case 'p':
      o.process = parse_pid(argument);
      return true;
    case 't':
      o.apart = Apart::threads;
      return true;
    case option_processes:
      if (o.apart == Apart::nothing) o.apart = Apart::processes;
      return true;
    case 'w':
      o.wide = true;
      return true;
    case option_raw_names:
      o.raw_names = true;
      return true;
    case option_inlined:
      o.inlined = true;
      return true;
    case option_gprof_blocks:
      o.gprof_blocks = true;
      return true;
    case option_propagated:
      o.propagated = true;
      return true;
    case option_samples:
      o.samples = argument;
      if (o.samples.empty()) throw UsageError("--true: no file of samples named");
      return true;
    default:
      return false;
  }
}

// Takes an option that says which functions and libraries are rewritten, and how.
bool take_rewriting(Options& o, int c, const std::string& argument) {
  switch (c) {
    case 'F':
    case 'N':
      o.rewriting.push_back(std::string("-") + char(c));
      o.rewriting.push_back(argument);
      return true;
    case option_min_size:
      o.rewriting.push_back("--min-size=" + argument);
      return true;
    case option_no_leaves:
      o.rewriting.emplace_back("--no-leaves");
      return true;
    case 'b':
      o.blocks = true;
      o.rewriting.emplace_back("--blocks");
      return true;
    case option_trace:
      if (!argument.empty() && argument != "blocks" && argument != "memory")
        throw UsageError("--trace=" + argument + ": blocks and memory are what there is");
      o.trace = true;
      o.rewriting.emplace_back(argument.empty() ? "--trace" : "--trace=" + argument);
      return true;
    case option_discover:
      o.rewriting.emplace_back("--discover");
      return true;
    case option_imports:
      o.rewriting.emplace_back("--imports");
      return true;
    case option_no_imports:
      o.rewriting.emplace_back("--no-imports");
      return true;
    case option_libraries_only:
      o.libraries_only = true;
      [[fallthrough]];
    case option_libraries:
      if (!o.libraries) o.libraries.emplace();
      if (!argument.empty()) o.libraries->push_back(argument);
      return true;
    case option_libraries_all:
      if (!o.libraries) o.libraries.emplace();
      o.rewriting.emplace_back("--all");
      return true;
    case option_debug_folder:
      o.debug_files.folders.push_back(argument);
      o.rewriting.push_back("--debug-dir=" + argument);
      return true;
    default:
      return false;
  }
}

// Takes an option that says how the program is run.
bool take_run(Options& o, int c, const std::string& argument) {
  switch (c) {
    case option_type:
      o.type = parse_type(argument);
      return true;
    case option_dir:
      o.folder = argument;
      if (o.folder.empty()) throw UsageError("--dir: no folder named");
      return true;
    case option_cache_size:
      o.cache_size = parse_size("--cache-size", argument);
      return true;
    case option_automatic:
      o.automatic = true;
      return true;
    case option_true:
      o.true_times = true;
      return true;
    case option_check:
      o.check = true;
      return true;
    case option_report:
      o.report = file_name("--report", argument);
      return true;
    default:
      return false;
  }
}

bool take(Options& o, NamedView& view, int c, const std::string& argument) {
  if (c == 'h') o.help = true;
  if (c == 'V') o.version = true;
  return c == 'h' || c == 'V' || take_view(view, c, argument) || take_file(o, c, argument) ||
         take_selection(o, c, argument) || take_manner(o, c, argument) || take_rewriting(o, c, argument) ||
         take_run(o, c, argument);
}

Options parse(int argc, char** argv, const char* letters, const std::vector<option>& words) {
  Options o;
  NamedView view{o};
  opterr = 0;
  optind = 0;  // glibc: start anew
  for (int c; (c = getopt_long(argc, argv, letters, words.data(), nullptr)) != -1;)
    if (!take(o, view, c, optarg ? optarg : "")) throw error_of(c, argv);
  if (view.by_module && o.view != Options::View::json) view.choose(Options::View::modules);  // JSON has modules anyway
  settle(o, view.chosen);
  o.arguments.assign(argv + optind, argv + argc);
  return o;
}

}  // namespace

Options parse_prof_options(int argc, char** argv) { return parse(argc, argv, ":drsRtwGp:g:n:hV", kProfOptions); }

// '+': what follows the program belongs to the program.
Options parse_run_options(int argc, char** argv) {
  Options o = parse(argc, argv, "+:drsRtwGg:n:F:N:bh", kRunOptions);
  using View = Options::View;
  if (o.output.empty() && (o.view == View::folded || o.view == View::csv || o.view == View::dot))
    throw UsageError("run: --folded, --csv and --dot need --output FILE; standard output is the program's");
  return o;
}

Options parse_pack_options(int argc, char** argv) { return parse(argc, argv, ":bo:F:N:", kPackOptions); }

bool is_of_code(Options::View view) {
  using View = Options::View;
  return view == View::annotation || view == View::disassembly || view == View::call_sites;
}

}  // namespace prof
