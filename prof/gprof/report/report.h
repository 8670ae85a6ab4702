// gprof's layouts, to the blank; and what gprof -i says of a file.
//
// gprof prints seconds with two digits after the point, which is enough for samples. Times that were measured are known
// better: where all of them are less than ten seconds they are printed in milliseconds, or in microseconds.

#ifndef PROF_GPROF_REPORT_REPORT_H
#define PROF_GPROF_REPORT_REPORT_H

#include <string>
#include <utility>
#include <vector>

#include "prof/gprof/graph/call_graph.h"
#include "prof/views/text/output.h"
#include "text.h"

namespace prof::gprof {

struct ReportOptions {
  bool explains = false;    // after each table, what its columns are; gprof: without -b
  bool bsd = false;         // -T: as BSD's gprof printed it
  bool unused = false;      // -z: functions that were not called and have no time, too
  bool full_paths = false;  // -L: of source files
  bool demangled = true;    // --no-demangle
  bool lines = false;       // functions are lines of the source (-l): names have FILE:LINE after them
  bool file_names = false;  // --inline-file-names: the same of functions
  unsigned width = 80;      // -w: columns of the index
};

// Each of the tables begins with a form feed if it is not the first in a report.
class Report {
 public:
  // The first four must outlive it.
  Report(const CallGraph& graph, const Selection& selection, const ReportOptions& options, Output& out,
         Trace trace = {})
      : graph_(graph), selection_(selection), options_(options), out_(out), trace_(std::move(trace)) {}

  void print_flat_profile();
  void print_call_graph();
  void print_index();

  // What gprof prints without options that choose: the flat profile if there is a histogram, the call graph and its index
  // if there are arcs.
  void print();

  // The name of a function or cycle as the tables have it; with ` <cycle N>' and ` [N]' after it. The second is kept: the call
  // graph has it once for each caller and each function called.
  std::string name(uint32_t function) const;
  const std::string& name_with_index(uint32_t function);
  // Where it stands in the source: the file's name, or with -L its path.
  std::string source_name(uint32_t function) const;

 private:
  // What times are printed in.
  struct Unit {
    double rate;  // ticks in it
    std::string name;
  };

  void begin_table();
  long bytes_by_bin() const;  // what gprof calls the granularity
  Unit unit() const;
  void print_flat_header(double total, char prefix);
  void print_graph_header(double total);
  void print_entry(uint32_t function, double total);
  void print_callers(uint32_t function);
  void print_cycle(uint32_t cycle, double total);
  void print_arc(const Arc& arc, uint32_t other);
  std::string index_cell(uint32_t function, size_t& column, size_t start) const;

  const CallGraph& graph_;
  const Selection& selection_;
  const ReportOptions& options_;
  Output& out_;
  Trace trace_;
  bool is_first_ = true;
  FastLine line_;
  std::vector<std::string> names_with_index_;  // of functions and cycles; empty: not asked for yet
};

}  // namespace prof::gprof

#endif
