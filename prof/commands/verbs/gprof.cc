#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "gprof_options.h"
#include "libprof/printable.h"
#include "prof/commands/options/message.h"
#include "prof/gprof/graph/assemble.h"
#include "prof/gprof/graph/call_graph.h"
#include "prof/gprof/report/executions.h"
#include "prof/gprof/report/ordering.h"
#include "prof/gprof/report/report.h"
#include "prof/gprof/symbols/source_lines.h"
#include "prof/gprof/symbols/static_calls.h"
#include "prof/gprof/symbols/symbols.h"
#include "prof/model/analysis/analysis.h"
#include "prof/model/gmon/gmon_of.h"
#include "prof/model/program/debug_files.h"
#include "prof/read/file.h"
#include "prof/read/gmon_file.h"
#include "prof/read/header.h"
#include "prof/sample/samples.h"
#include "prof/views/run/views.h"
#include "verbs.h"

namespace prof {

namespace {

constexpr char kSum[] = "gmon.sum";
constexpr char kMagic[] = "gmon";  // GNU's format begins with it

using gprof::CallGraph;
using gprof::ChosenSymbols;
using gprof::Function;
using gprof::SourceLines;

// All bytes of a file; of standard input if the path is -, as gprof has it. Throws Error.
std::string bytes_of(const std::string& path) {
  std::ifstream file;
  if (path != "-") file.open(path, std::ios::binary);
  if (path != "-" && !file) throw Error(path + ": cannot be read");
  std::istream& in = path == "-" ? std::cin : file;
  std::optional<std::string> bytes = read_all(in);
  if (!bytes) throw Error(path + ": cannot be read");
  return *std::move(bytes);
}

// -O. The reader tells formats apart by itself.
void check_format(const std::string& bytes, const std::string& path, const std::string& format) {
  const bool is_gnu = bytes.starts_with(kMagic);
  if (format == "magic" && !is_gnu) throw Error(path + ": does not begin with \"gmon\"; -O magic is for files that do");
  if ((format == "bsd" || format == "4.4bsd") && is_gnu)
    throw Error(path + ": is in GNU's format, not in BSD's; leave out -O");
}

// The program, and what its profiles say of it.
class Session {
 public:
  Session(const GprofOptions& options, Output& out) : options_(options), out_(out) {
    trace_.levels = options.debug;
    trace_.print = [&out](const std::string& line) { out.text(prof_text::printable(line) + "\n"); };
  }

  // Prints all that was asked for. Returns the exit status.
  int run() {
    const ElfFile program(options_.program);
    read_profiles();
    const GprofOutputs outputs = outputs_wanted();
    if (outputs & output_sum) write_file(kSum, [&](Output& file) { print_gmon(gmon_, file); });
    if (!(outputs & ~(output_sum | output_file_info))) return status_;
    check(outputs);

    find_functions(program);
    ChosenSymbols chosen = choose_symbols(options_.specs, functions_, trace_, remarks_);
    CallGraph graph = call_graph_of(functions_, gmon_, chosen.report, trace_);
    if (!has_lines() && !gmon_.blocks.empty())
      remarks_.emplace_back("counts of basic blocks are left out; -l shows them, by lines");
    if (options_.static_calls == GprofOptions::StaticCalls::of_gprof)
      add_static_calls_of_gprof(graph, program, gmon_.histograms, trace_);
    if (options_.static_calls == GprofOptions::StaticCalls::all)
      add_static_calls(graph, program, chosen.report, trace_);
    assemble(graph, chosen.report, trace_);
    print(graph, chosen, outputs);
    say_all(remarks_);
    return status_;
  }

 private:
  // gprof counts lines for gmon.sum, too, and so all else that is printed beside it is of lines.
  bool has_lines() const { return options_.lines || (options_.outputs & output_sum); }

  void read_profiles() {
    for (const std::string& path : without_samples(options_.profiles)) {
      if (path != "-" && kind_of_file(path) == FileKind::profile) {
        read_prof(path);
        continue;
      }
      const std::string bytes = bytes_of(path);
      check_format(bytes, path, options_.format);
      Gmon more = decode_gmon(bytes, path);
      if (options_.outputs & output_file_info) out_.text(gprof::file_info(path, gprof::records_in(bytes)));
      add_gmon(gmon_, std::move(more), path);
    }
  }

  void read_prof(const std::string& path) {
    Input input;
    input.program = options_.program;
    input.profiles = {path};
    analysis_ = analyse(input);
    say_all(analysis_->remarks);
    if (analysis_->damaged) status_ = 1;
    std::vector<std::string> ignored;  // without its code a caller is known as a whole
    Gmon more = gmon_of(*analysis_, 0, nullptr, call_sites(*analysis_, input.debug_files, ignored));
    if (const std::string remark = remark_on_estimates(more); !remark.empty()) say(path + ": " + remark);
    if (has_lines()) add_line_starts(more, *analysis_, 0, input.debug_files);
    if (options_.outputs & output_file_info)
      out_.text(gprof::file_info(path, {1, more.histograms.size(), more.arcs.size(), more.blocks.size()}));
    add_gmon(gmon_, std::move(more), path);
  }

  GprofOutputs outputs_wanted() const {
    if (options_.outputs != 0) return options_.outputs;
    GprofOutputs usual = 0;
    if (!gmon_.histograms.empty()) usual |= output_flat;
    if (!gmon_.arcs.empty()) usual |= output_graph;
    if (usual == 0) usual = output_counts;
    return usual & ~options_.not_usual;
  }

  void check(GprofOutputs outputs) const {
    const std::string& path = options_.profiles[0];
    if ((outputs & output_flat) && gmon_.histograms.empty())
      throw Error(path + ": has no histogram, so there is no flat profile");
    if ((outputs & output_graph) && gmon_.arcs.empty()) throw Error(path + ": has no arcs, so there is no call graph");
  }

  void find_functions(const ElfFile& program) {
    const gprof::SymbolOptions which = {options_.no_static, options_.functions_only};
    const gprof::TextBounds text = gprof::text_bounds(program);
    if (!options_.symbols_file.empty()) {
      functions_ = gprof::symbols_of_text(bytes_of(options_.symbols_file), text.last);
      if (functions_.empty())
        throw Error(options_.symbols_file + ": has no symbols of functions; write lines as ADDRESS t|T NAME");
    } else {
      functions_ = analysis_ ? symbols_of(*analysis_, 0, which) : gprof::symbols_of(program, which);
      if (functions_.empty()) throw Error(options_.program + ": has no symbols; name a file that has them with -S");
    }

    if ((outputs_wanted() & output_file_order) && !options_.chains) {
      object_files_.emplace(gprof::read_object_map(options_.object_map));
      object_files_->put_files_in_place(functions_);
    }

    const DebugFile debug_file = has_debug_info(program) ? DebugFile() : find_debug_file(program, {}, remarks_);
    lines_.emplace(debug_file.file ? *debug_file.file : program, DebugSearch());
    if (!lines_->problem().empty() && (has_lines() || (outputs_wanted() & output_source)))
      remarks_.push_back(options_.program + ": " + lines_->problem());
    if (options_.symbols_file.empty()) add_first_lines(functions_, *lines_);
    note_order_of_files(program);
    if (has_lines() && options_.symbols_file.empty()) {
      if (lines_->ranges().empty() && lines_->problem().empty() && options_.lines)
        remarks_.push_back(options_.program + ": has no debug information; -l shows functions");
      functions_ = line_symbols(functions_, *lines_, text);
    }
    trace_symbols();
  }

  // gprof's order of sources: that whose first function comes last in the table of symbols is the first.
  void note_order_of_files(const ElfFile& program) {
    std::vector<bool> is_known(lines_->files().size());
    const auto note = [&](const gprof::SourceRange* range) {
      if (!range || is_known[range->file]) return;
      is_known[range->file] = true;
      files_.insert(files_.begin(), lines_->files()[range->file]);
    };
    for (const Symbol& symbol : program.symbols()) note(lines_->find(symbol.address));
    if (has_lines())
      for (const gprof::SourceRange& range : lines_->ranges()) note(&range);
  }

  void trace_symbols() const {
    if (!trace_.has(gprof::Trace::symbols) && !trace_.has(gprof::Trace::look_ups)) return;
    const auto print = [&](const char* format, auto... values) {
      char text[512];
      std::snprintf(text, sizeof text, format, values...);
      trace_.print(text);
    };
    using Long = unsigned long long;
    if (trace_.has(gprof::Trace::symbols))
      for (const Function& f : functions_)
        print("[symbols] 0x%llx-0x%llx %c %.400s", Long(f.address), Long(f.end), f.is_static ? 't' : 'T',
              f.name.c_str());
    if (!trace_.has(gprof::Trace::look_ups)) return;
    const auto look_up = [&](uint64_t address) {
      const uint32_t f = function_at(functions_, uint32_t(functions_.size()), address);
      print("[look-ups] 0x%llx is in %.400s", Long(address),
            f == gprof::kNone ? "no function" : functions_[f].name.c_str());
    };
    for (const GmonArc& arc : gmon_.arcs) {
      look_up(arc.from);
      look_up(arc.to);
    }
    for (const GmonBlock& block : gmon_.blocks) look_up(block.address);
  }

  void print(const CallGraph& graph, const ChosenSymbols& chosen, GprofOutputs outputs) {
    gprof::ReportOptions layout;
    layout.explains = !options_.brief;
    layout.bsd = options_.traditional;
    layout.unused = options_.unused;
    layout.full_paths = options_.full_paths;
    layout.demangled = options_.demangle;
    layout.lines = has_lines();
    layout.file_names = options_.file_names;
    layout.width = std::max(options_.width, 1u);
    gprof::Report report(graph, chosen.report, layout, out_, trace_);
    const bool has_graph = outputs & output_graph, has_flat = outputs & output_flat;
    const bool has_info = outputs & output_file_info;
    if (has_info && (has_graph || has_flat)) out_.text("\f\n");  // as between all others
    if (has_graph && layout.bsd) report.print_call_graph();
    if (has_flat) report.print_flat_profile();
    if (has_graph && !layout.bsd) report.print_call_graph();
    if (has_graph) report.print_index();
    print_counts(graph, chosen, outputs, !has_graph && !has_flat && !has_info);
  }

  // `is_first`: nothing was printed yet.
  void print_counts(const CallGraph& graph, const ChosenSymbols& chosen, GprofOutputs outputs, bool is_first) {
    const gprof::Executions executions(graph, has_lines() ? gmon_.blocks : std::vector<GmonBlock>(), trace_);
    gprof::ExecutionOptions form;
    form.least = options_.least_count;
    form.unused = options_.unused;
    form.all_lines = options_.all_lines;
    form.separate_files = options_.separate_files;
    form.table_length = options_.table_length;
    form.folders = options_.folders;
    form.made = time_of_change(options_.program);
    if (outputs & output_counts) {
      if (!is_first) out_.text("\f\n");
      is_first = false;
      print_executions(executions, chosen.counts, form, out_);
    }
    if (outputs & output_source)
      print_sources(executions, chosen.source, files_, form, is_first, trace_, out_, remarks_);
    print_orders(graph, outputs);
  }

  void print_orders(const CallGraph& graph, GprofOutputs outputs) {
    if ((outputs & output_function_order) && options_.chains) print_function_order(graph, out_);
    if ((outputs & output_function_order) && !options_.chains) print_gprof_function_order(graph, out_);
    if ((outputs & output_file_order) && options_.chains)
      print_file_order(graph, gprof::read_object_map(options_.object_map), out_);
    if (object_files_) object_files_->print_order(graph, out_);
  }

  const GprofOptions& options_;
  Output& out_;
  gprof::Trace trace_;
  Gmon gmon_;
  std::optional<Analysis> analysis_;  // of a profile prof.<pid> among them
  std::optional<SourceLines> lines_;
  std::vector<Function> functions_;
  std::optional<gprof::ObjectFiles> object_files_;  // for -R
  std::vector<std::string> files_;                  // sources in gprof's order
  std::vector<std::string> remarks_;
  int status_ = 0;
};

}  // namespace

int run_gprof(int argc, char** argv) {
  std::vector<std::string> remarks;
  const GprofOptions options = parse_gprof_options(argc, argv, remarks);
  Output out(stdout, "standard output");
  int status = 0;
  if (options.help) {
    out.text(gprof_help_text());
  } else if (options.version) {
    out.text("prof gprof " PROFLD_VERSION "\n");
  } else {
    say_all(remarks);
    status = Session(options, out).run();
  }
  out.finish();
  return status;
}

}  // namespace prof
