#include "gprof_report.h"

#include <algorithm>

#include "prof/commands/options/message.h"
#include "prof/gprof/graph/measured.h"
#include "prof/gprof/report/graph_of.h"
#include "prof/gprof/report/report.h"
#include "prof/read/error.h"
#include "prof/read/gmon_file.h"

namespace prof {

namespace {

constexpr uint32_t kProgram = 0;  // index among the objects

void print(const gprof::CallGraph& graph, const Options& options, Output& out) {
  gprof::ReportOptions form;
  form.demangled = !options.raw_names;
  const gprof::Selection all;
  gprof::Report(graph, all, form, out).print();
}

}  // namespace

void print_gprof_report(const Options& options, const Analysis& analysis, Output& out) {
  const bool is_measured = !options.propagated && analysis.has_hooks;  // of each call
  print(is_measured ? gprof::measured_graph(analysis) : gprof::graph_as_gprof(analysis, kProgram, options.debug_files),
        options, out);
}

bool names_gmon_file(const Options& options) { return std::ranges::any_of(options.arguments, is_gmon_file); }

void print_gprof_report_of_files(const Options& options, Output& out) {
  if (options.view == Options::View::fallacy)
    throw Error("--fallacy needs a profile with a tree, which gmon.out has not");
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

}  // namespace prof
