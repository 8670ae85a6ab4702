// gprof's layouts, to the blank; what gprof would show of a run; and what gprof -i says of a file.
//
// gprof prints seconds with two digits after the point, which is enough for samples. Times that were measured are known
// better: where all of them are less than ten seconds they are printed in milliseconds, or in microseconds.

#ifndef PROF_GPROF_REPORT_REPORT_H
#define PROF_GPROF_REPORT_REPORT_H

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "prof/gprof/graph/call_graph.h"
#include "prof/model/analysis/analysis.h"
#include "prof/read/gmon_file.h"
#include "prof/views/text/output.h"

namespace prof::gprof {

// Lines as printf makes them, for tables whose layout is that of another program.

// For numbers and short words. Names, which may be long, are put after.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[1024];
  const int length = std::snprintf(text, sizeof text, format, values...);
  return std::string(text, length < 0 ? 0 : std::min(size_t(length), sizeof text - 1));
}

// A line of a table that may have millions of them: as printf would make it, in a third of the time.
class FastLine {
 public:
  FastLine& text(std::string_view s) {
    line_ += s;
    return *this;
  }
  FastLine& blanks(size_t columns) {
    line_.append(columns, ' ');
    return *this;
  }
  // %WIDTHlu and %-WIDTHlu
  FastLine& right(uint64_t number, size_t width) {
    char digits[24];
    return right({digits, std::to_chars(digits, digits + sizeof digits, number).ptr}, width);
  }
  // The same of an estimate.
  FastLine& right_marked(uint64_t number, size_t width) {
    char digits[24] = "~";
    return right({digits, std::to_chars(digits + 1, digits + sizeof digits, number).ptr}, width);
  }
  FastLine& left(uint64_t number, size_t width) {
    const size_t start = line_.size();
    char digits[24];
    line_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    return blanks(width - std::min(width, line_.size() - start));
  }
  // %WIDTH.2f
  FastLine& right(double number, size_t width) {
    char digits[330];  // of the greatest number, with its point and places
    return right({digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed, 2).ptr},
                 width);
  }

  // The line so far; the next one begins.
  const std::string& take() {
    taken_.swap(line_);
    line_.clear();
    return taken_;
  }

 private:
  FastLine& right(std::string_view digits, size_t width) {
    return blanks(width - std::min(width, digits.size())).text(digits);
  }

  std::string line_, taken_;
};

struct ReportOptions {
  bool explains = false;    // after each table, what its columns are; gprof: without -b
  bool bsd = false;         // -T: as BSD's gprof printed it
  bool unused = false;      // -z: functions that were not called and have no time, too
  bool full_paths = false;  // -L: of source files
  bool demangled = true;    // --no-demangle
  bool lines = false;       // functions are lines of the source (-l): names have FILE:LINE after them
  bool file_names = false;  // --inline-file-names: the same of functions
  unsigned width = 80;      // -w: columns of the index
  // Calls of an arc that are shared by samples have the mark ~, for which gprof has no place.
  bool marks_estimates = false;
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

  // What gprof prints without options that choose: the flat profile if there is a histogram, the call graph and its
  // index if there are arcs.
  void print();

  // The name of a function or cycle as the tables have it; with ` <cycle N>` and ` [N]` after it. The second is kept:
  // the call graph has it once for each caller and each function called.
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
  bool are_calls_known(const Arc& arc) const;
  void add_calls(const Arc& arc);
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

// What gprof would show of a run, from what prof knows of it.

// The graph that gprof makes of the gmon.out that prof -g writes of a program or a library; whole, as after assemble().
// `search`: for the code of libraries, which tells where calls stand.
CallGraph graph_as_gprof(const Analysis& analysis, uint32_t object, const DebugSearch& search);

// The same of a file gmon.out and the program that wrote it.
CallGraph graph_as_gprof(const Object& program, const Gmon& gmon);

// gprof -i: how many records a gmon.out has.

struct RecordCounts {
  uint32_t version = 0;  // of the format; BSD's have none
  uint64_t histograms = 0, arcs = 0, blocks = 0;
};

// Of the bytes of a file that read_gmon (read/gmon_file.h) takes; of others what there is up to the first fault.
RecordCounts records_in(std::string_view bytes);

// As gprof says it.
std::string file_info(const std::string& path, const RecordCounts& counts);

// Where gprof would have been wrong.
//
// gprof takes each call of a function to have cost as much as the others. A function that is called cheaply from one
// place and dearly from another is then shown with the wrong caller. Since the tree knows what the calls took, the two
// can be compared arc by arc. Left out are arcs within cycles, of which gprof says nothing.

// A table of arcs, the greatest difference first. `most_rows`: only so many; none: those that differ by a thousandth of
// the whole time at least.
void print_fallacy(const Analysis& analysis, std::optional<size_t> most_rows, Output& out);

}  // namespace prof::gprof

#endif
