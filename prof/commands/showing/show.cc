// From options to what is seen: which exports are written, which view is printed, and how wide; all as one, or each
// thread or process apart. And what the views of code, and gprof's report, need beside an analysis. The views
// themselves are in prof/views/, the exports in prof/export/.

#include "show.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "choose.h"
#include "libprof/printable.h"
#include "prof/commands/options/message.h"
#include "prof/commands/options/options.h"
#include "prof/export/exports.h"
#include "prof/gprof/graph/measured.h"
#include "prof/gprof/report/report.h"
#include "prof/model/analysis/analysis.h"
#include "prof/model/tree/contexts.h"
#include "prof/model/tree/modules.h"
#include "prof/page/page.h"
#include "prof/read/error.h"
#include "prof/read/gmon_file.h"
#include "prof/views/code/code_views.h"
#include "prof/views/run/views.h"
#include "prof/views/text/json_writer.h"
#include "prof/views/text/names.h"
#include "prof/views/text/output.h"
#include "suggest.h"

namespace prof {

namespace {

// prof -G and prof --fallacy: gprof's report of a profile, or of a gmon.out, and where gprof would be wrong.

constexpr uint32_t kProgram = 0;  // index among the objects

void print(const gprof::CallGraph& graph, const Options& options, Output& out) {
  gprof::ReportOptions form;
  form.demangled = !options.raw_names;
  form.marks_estimates = !options.propagated;
  const gprof::Selection all;
  gprof::Report(graph, all, form, out).print();
}

// For -G: with the times that were measured, by hooks or by samples with callers, or those that gprof would have
// computed (--propagated).
void print_gprof_report(const Options& options, const Analysis& analysis, Output& out) {
  const bool is_measured = !options.propagated && analysis.has_contexts();
  print(is_measured ? gprof::measured_graph(analysis) : gprof::graph_as_gprof(analysis, kProgram, options.debug_files),
        options, out);
}

// Whether one of the arguments is a gmon.out. It has no tree, so there is one report only that can be made of it.
bool names_gmon_file(const Options& options) { return std::ranges::any_of(options.arguments, is_gmon_file); }

// -G of PROGRAM gmon.out ...; without a program it is a.out. Throws Error if they cannot be used.
void print_gprof_report_of_files(const Options& options, Output& out) {
  if (options.view == Options::View::fallacy)
    throw Error("gmon.out has no tree of calls, which --fallacy needs; name a profile");
  std::string program;
  std::vector<std::string> files;
  for (const std::string& argument : options.arguments) {
    if (is_gmon_file(argument))
      files.push_back(argument);
    else if (program.empty())
      program = argument;
    else
      throw UsageError("prof -G takes one program: " + program + " or " + argument);
  }
  if (program.empty()) program = "a.out";  // as gprof does

  Gmon gmon = read_gmon(files[0]);
  for (size_t i = 1; i < files.size(); ++i) add_gmon(gmon, read_gmon(files[i]), files[i]);
  Object object(program, Object::Kind::program, program);
  object.add_symbols(ElfFile(program));
  std::vector<std::string> remarks;
  object.add_debug_file(options.debug_files, remarks);
  object.finish();
  say_all(remarks);
  print(gprof::graph_as_gprof(object, gmon), options, out);
}

// The exports that the options of a command line ask for.

class Exports {
 public:
  // `out`: for what is printed. Both must outlive this.
  Exports(const Options& options, Output& out) : options_(options), out_(out) {}

  // Throw Error if a file cannot be written. Files that are not finished are removed.
  void add(const Analysis& part);
  // Of all that was added, which is one part: the source, if the options ask for it.
  void add_source(Analysis& analysis);
  void finish();

 private:
  // Files are made when there is something to write: a profile that cannot be read leaves an older file alone.
  void open();
  Output& new_file(const std::string& path);

  const Options& options_;
  Output& out_;
  bool is_open_ = false;
  std::vector<std::unique_ptr<OutputFile>> files_;
  std::vector<std::unique_ptr<Export>> exports_;
  PageExport* page_ = nullptr;  // of these, if it is one
};

Output& Exports::new_file(const std::string& path) {
  files_.push_back(std::make_unique<OutputFile>(path));
  return files_.back()->out();
}

void Exports::open() {
  if (is_open_) return;
  is_open_ = true;
  if (options_.view == Options::View::folded) exports_.push_back(folded_export(out_));
  if (options_.view == Options::View::csv) exports_.push_back(csv_export(out_));
  if (!options_.html.empty()) {
    std::unique_ptr<PageExport> page = page_export(new_file(options_.html));
    page_ = page.get();
    exports_.push_back(std::move(page));
  }
  if (!options_.callgrind.empty()) exports_.push_back(callgrind_export(options_.callgrind));
  if (!options_.pprof.empty()) exports_.push_back(pprof_export(new_file(options_.pprof)));
  if (!options_.llvm_profile.empty())
    exports_.push_back(llvm_profile_export(options_.llvm_profile, options_.debug_files));
  if (!options_.gcc_profile.empty()) exports_.push_back(gcc_profile_export(options_.gcc_profile, options_.debug_files));
  if (!options_.bolt.empty()) exports_.push_back(bolt_export(options_.bolt, options_.debug_files));
  if (!options_.speedscope.empty()) exports_.push_back(speedscope_export(new_file(options_.speedscope)));
}

void Exports::add(const Analysis& part) {
  open();
  for (const auto& one : exports_) one->add(part);
}

void Exports::finish() {
  open();
  for (const auto& one : exports_) one->finish();
  for (const auto& file : files_) file->finish();
  for (const auto& one : exports_) say_all(one->remarks());
}

// The views of code, as options ask for them.

// What to say if no blocks were counted, of the files that the functions are in or at all.
std::vector<std::string> remarks_on_uncounted(const Analysis& analysis, const std::vector<uint32_t>& functions,
                                              const char* what) {
  const std::string why = std::string(" blocks were not counted; ") + what + " need profld -b";
  if (analysis.blocks.empty()) return {analysis.profiles.at(0) + ":" + why};
  std::vector<std::string> remarks;
  std::set<uint32_t> told;  // objects
  for (const BlockCount& block : analysis.blocks) told.insert(block.object);
  for (const uint32_t f : functions) {
    const uint32_t object = analysis.functions.functions()[f].object;
    if (told.insert(object).second) remarks.push_back(analysis.functions.objects()[object].name() + ": its" + why);
  }
  return remarks;
}

}  // namespace

std::vector<uint32_t> code_for_page(Analysis& analysis) {
  add_uncalled_functions(analysis, false);
  std::vector<uint32_t> selected = selected_code(analysis);
  std::erase_if(selected, [&](uint32_t f) {
    return is_plain_library(analysis.functions.objects()[analysis.functions.functions()[f].object]);
  });
  return selected;
}

AnnotatedSource annotated_source(const Analysis& analysis, const std::vector<uint32_t>& selected,
                                 const DebugSearch& search) {
  SourceText text = sources_of(analysis, search);
  const bool has_patterns = !analysis.function_filter.is_empty() || !analysis.module_patterns.empty();
  AnnotatedSource source = {annotate(analysis, selected, has_patterns, search, text), std::move(text), {}};
  source.remarks = source.annotation.remarks;
  const std::vector<std::string> uncounted = remarks_on_uncounted(analysis, selected, "executions of lines");
  source.remarks.insert(source.remarks.end(), uncounted.begin(), uncounted.end());
  return source;
}

namespace {

// The same with what there is to say of the text, for one profile.
AnnotatedSource source_with_remarks(const Options& options, const Analysis& analysis,
                                    const std::vector<uint32_t>& selected) {
  AnnotatedSource source = annotated_source(analysis, selected, options.debug_files);
  for (const AnnotatedFile& file : source.annotation.files)
    source.text.note_program(file.path, file.lines.empty() ? 0 : file.lines.rbegin()->first, file.made);
  const std::vector<std::string> of_text = source.text.remarks();
  source.remarks.insert(source.remarks.end(), of_text.begin(), of_text.end());
  return source;
}

void annotate_source(const Options& options, Analysis& analysis, Output& out) {
  add_uncalled_functions(analysis, !analysis.function_filter.is_empty());
  AnnotatedSource source = source_with_remarks(options, analysis, selected_code(analysis, true));
  say_all(source.remarks);
  print_annotation(analysis, source.annotation, source.text, options.table.columns, out);
}

void annotate_instructions(const Options& options, Analysis& analysis, Output& out) {
  add_uncalled_functions(analysis, true);
  // What was inlined is in the code of others: it is only shown if it is asked for.
  const std::vector<uint32_t> selected = selected_code(analysis, !analysis.function_filter.only().empty());
  const Disassembly disassembly = disassemble(analysis, selected, options.debug_files);
  say_all(disassembly.remarks);
  say_all(remarks_on_uncounted(analysis, selected, "executions of instructions"));
  SourceText sources = sources_of(analysis, options.debug_files);
  for (const DisassembledFunction& function : disassembly.functions)
    for (const DisassembledInstruction& instruction : function.instructions)
      if (instruction.line != 0) sources.note_program(instruction.file, instruction.line, function.made);
  say_all(sources.remarks());
  print_disassembly(analysis, disassembly, sources, options.table.columns, out);
}

void Exports::add_source(Analysis& analysis) {
  if (!options_.with_source) return;
  const std::vector<uint32_t> selected = code_for_page(analysis);
  AnnotatedSource source = source_with_remarks(options_, analysis, selected);
  const std::vector<uint32_t> functions = functions_with_instructions(analysis, selected, source.remarks);
  const Disassembly disassembly = disassemble(analysis, functions, options_.debug_files);
  for (const std::string& remark : disassembly.remarks)
    if (std::ranges::find(source.remarks, remark) == source.remarks.end()) source.remarks.push_back(remark);
  say_all(source.remarks);
  page_->add_sources({analysis, source.annotation, disassembly, source.text, source.remarks});
}

void show_call_sites(const Options& options, const Analysis& analysis, Output& out) {
  std::vector<std::string> remarks;
  std::vector<CallSite> sites = call_sites(analysis, options.debug_files, remarks);
  const std::vector<bool> selected = selected_functions(analysis, Modules(analysis));
  std::erase_if(sites, [&](const CallSite& site) { return !selected[site.caller] && !selected[site.callee]; });
  say_all(remarks);
  say_all(print_call_sites(analysis, sites, options.debug_files, options.table.columns, out));
}

// Prints the view of code that the options choose, and says what is missing. Functions that were never called are added
// to the analysis. Throws Error if the options name functions, and there are none of these.
void print_code(const Options& options, Analysis& analysis, Output& out) {
  switch (options.view) {
    case Options::View::annotation:
      return annotate_source(options, analysis, out);
    case Options::View::disassembly:
      return annotate_instructions(options, analysis, out);
    case Options::View::call_sites:
      say_all(check_patterns(analysis));
      return show_call_sites(options, analysis, out);
    default:
      break;
  }
}

constexpr double kMinShareInGraph = 0.005;  // as pprof has it

// Who made the calls that are shown next.
std::string heading(const Analysis& part, std::optional<size_t> columns) {
  std::string text = "process " + std::to_string(part.process);
  text += part.thread ? ", thread " + std::to_string(part.thread) + " "
                      : ", child of " + std::to_string(part.parent_process) + ": ";
  const std::string name = prof_text::printable(part.thread ? part.thread_name : part.command);
  const size_t room = columns.value_or(0) - std::min(columns.value_or(0), text.size());
  return text + (columns ? middle_cut(name, room) : name) + "\n";
}

// On a terminal there are only so many lines, and whoever sits there looks for where the time goes.
TreeOptions tree_form(const Options& options) {
  constexpr double kMinPercent = 0.5;
  TreeOptions form = options.tree;
  const bool is_short = options.table.columns && !options.all;
  form.columns = options.table.columns;
  if (form.columns && options.wide) form.columns = UINT32_MAX;  // a line of a terminal goes on in the next
  form.chains = form.chains || is_short;
  form.pruning.percent = options.percent.value_or(is_short ? kMinPercent : 0);
  return form;
}

// How a table is printed that goes to `file`, or to a file that the options name.
TableOptions table_on(const Options& options, std::FILE* file) {
  TableOptions table = options.table;
  table.wide = options.wide;
  table.all = options.all || options.percent;
  table.least_percent = options.percent.value_or(0);
  if (options.order) table.order = *options.order;
  if (!options.output.empty()) return table;
  if (const std::optional<TerminalSize> terminal = terminal_size(fileno(file))) {
    table.columns = terminal->columns;
    table.rows_of_terminal = terminal->rows_of_table();
  }
  return table;
}

Pruning pruning_of_json(const Options& options) { return {options.percent.value_or(0), options.tree.pruning.depth}; }

void print(const Options& options, const Analysis& analysis, Output& out) {
  switch (options.view) {
    case Options::View::flat:
      print_flat(analysis, options.table, out);
      break;
    case Options::View::tree:
      print_tree(analysis, tree_form(options), out);
      break;
    case Options::View::modules:
      print_modules(analysis, options.table, out);
      break;
    case Options::View::latency:
      print_latency(analysis, options.table, options.order.value_or(SortKey::max), out);
      break;
    case Options::View::json:
      print_json(analysis, options.order, out, pruning_of_json(options));
      break;
    case Options::View::suggestion:
      print_suggestion(analysis, out);
      break;
    case Options::View::dot:
      print_dot(analysis, kMinShareInGraph, out);
      break;
    case Options::View::gprof:
      print_gprof_report(options, analysis, out);
      break;
    case Options::View::fallacy:
      gprof::print_fallacy(analysis, options.table.most_rows, out);
      break;
    case Options::View::annotation:  // print_code prints them
    case Options::View::disassembly:
    case Options::View::call_sites:
    case Options::View::folded:
    case Options::View::csv:
    case Options::View::none:  // Exports writes them
      break;
  }
}

// Whether a thread or process has any of the functions that are to be shown.
bool has_selected(const Analysis& part) {
  const std::vector<bool> selected = selected_functions(part, Modules(part));
  for (uint32_t f = 0; f < selected.size(); ++f)
    if (selected[f] && occurs(part, f)) return true;
  return false;
}

// What is wrong with the patterns of functions, "" if nothing is.
std::string problem_of_patterns(const Analysis& part) {
  if (part.function_filter.is_empty()) return "";
  try {
    check_patterns(part);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// Shows each thread or process by itself. Returns the exit status.
int show_apart(const Options& options, const Input& input, Output& out) {
  using View = Options::View;
  const View view = options.view;
  const bool is_json = view == View::json;
  const bool has_headings = !is_json && view != View::folded && view != View::csv && view != View::none;
  const std::optional<size_t> columns = options.wide ? std::nullopt : options.table.columns;
  if (has_headings) print_processes(input.profiles, options.apart, columns, out);
  Exports exports(options, out);
  JsonWriter json(out);
  if (is_json) json.begin_array();
  bool is_first = true;
  std::string problem;  // of all parts: the table of functions grows with each
  const bool is_whole = analyse_apart(input, options.apart, [&](const Analysis& part) {
    say_all(part.remarks);
    problem = problem_of(options.contexts, part);
    if (problem.empty()) problem = problem_of_patterns(part);
    exports.add(part);
    if (has_headings && !part.function_filter.is_empty() && !has_selected(part)) return;
    if (has_headings) out.text((is_first ? "" : "\n") + heading(part, columns));
    if (is_json) {
      if (!is_first) json.new_line();
      write_json(part, options.order, json, pruning_of_json(options));
      out.byte('\n');
    } else {
      print(options, part, out);
    }
    is_first = false;
  });
  if (is_json) {
    json.end_array();
    out.byte('\n');
  }
  exports.finish();
  if (!problem.empty()) throw Error(problem);
  return is_whole ? 0 : 1;
}

int show_as_one(const Options& options, const Input& input, Output& out) {
  Analysis analysis = analyse(input);
  say_all(analysis.remarks);
  const bool is_code = is_of_code(options.view);
  if (!is_code) say_all(check_patterns(analysis));
  const std::string problem = problem_of(options.contexts, analysis);
  if (!problem.empty()) throw Error(problem);
  is_code ? print_code(options, analysis, out) : print(options, analysis, out);
  Exports exports(options, out);
  exports.add(analysis);
  exports.add_source(analysis);
  exports.finish();
  out.finish();
  if (!options.gmon.empty()) say_all(write_gmon(analysis, options.gmon, {options.debug_files, options.gprof_blocks}));
  if (!options.gprof_symbols.empty()) write_gprof_symbols(analysis, options.gprof_symbols);
  return analysis.damaged ? 1 : 0;
}

// Calls `print` with the file that the options name, or with `file`.
void print_to(const Options& options, std::FILE* file, const std::function<void(Output&)>& print) {
  if (!options.output.empty()) return write_file(options.output, print);
  Output out(file, file == stderr ? "standard error" : "standard output");
  print(out);
  out.finish();
}

}  // namespace

int show(const Options& as_given, const std::string& program, const std::vector<std::string>& profiles, std::FILE* file,
         const std::map<std::string, std::string>& gmon_libraries) {
  Options options = as_given;
  options.table = table_on(options, file);
  // JSON says by itself what the other views, and the page, need remarks for.
  const bool is_json = options.view == Options::View::json;
  using View = Options::View;
  const bool is_of_one_run = options.view == View::suggestion || options.view == View::gprof ||
                             options.view == View::fallacy || is_of_code(options.view);
  const bool can_show_two_runs = !is_of_one_run && !options.with_source && options.samples.empty() &&
                                 options.gmon.empty() && options.gprof_symbols.empty();
  const bool shows_blocks = is_json || options.view == View::gprof || options.view == View::fallacy ||
                            is_of_code(options.view) || options.with_source || !options.gmon.empty() ||
                            !options.llvm_profile.empty() || !options.gcc_profile.empty() || !options.bolt.empty();
  const bool may_name_inlined =
      (options.view == View::annotation || options.view == View::disassembly) && !options.functions.empty();
  const bool shows_inlined = !options.no_inlined && !options.inlined && (!is_of_one_run || may_name_inlined) &&
                             options.gmon.empty() && options.gprof_symbols.empty();
  const Input input = {.program = program,
                       .profiles = profiles,
                       .raw_names = options.raw_names,
                       .raw_times = options.raw_times,
                       .remarks = !is_json || !options.html.empty(),
                       .side_by_side = can_show_two_runs,
                       .module_patterns = options.modules,
                       .samples = options.samples,
                       .debug_files = options.debug_files,
                       .sources = options.inlined,
                       .inlined_rows = shows_inlined,
                       .whole_names = options.wide,
                       .blocks = shows_blocks ? Listed::all : Listed::executed,
                       .function_patterns = options.functions,
                       .not_function_patterns = options.not_functions,
                       .contexts = options.contexts,
                       .durations = is_json || options.view == View::latency,
                       .gmon_libraries = gmon_libraries};
  int status = 0;
  print_to(options, file, [&](Output& out) {
    status = options.apart == Apart::nothing ? show_as_one(options, input, out) : show_apart(options, input, out);
  });
  return status;
}

int show_arguments(const Options& options) {
  const bool is_of_gprof = options.view == Options::View::gprof || options.view == Options::View::fallacy;
  if (is_of_gprof && names_gmon_file(options)) {
    print_to(options, stdout, [&](Output& out) { print_gprof_report_of_files(options, out); });
    return 0;
  }
  const Choice choice = choose(options);
  say_all(choice.remarks);
  return show(options, choice.program, choice.profiles, stdout, choice.gmon_libraries);
}

}  // namespace prof
