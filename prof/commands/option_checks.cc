#include "option_checks.h"

#include "message.h"
#include "show_code.h"

namespace prof {

namespace {

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

}  // namespace

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

}  // namespace prof
