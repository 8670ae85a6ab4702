// gprof -C and -A: how often functions, and with -l lines of the source, were run; and the source with these numbers.
//
// A function is counted by its calls, a basic block by its own record, if the profile has one. gprof keeps
// ten basic blocks of a line, and of a line whose code lies in several places those of the first; here all are kept.

#ifndef PROF_GPROF_REPORT_EXECUTIONS_H
#define PROF_GPROF_REPORT_EXECUTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "prof/gprof/graph/call_graph.h"
#include "prof/read/gmon_file.h"
#include "prof/views/text/output.h"

namespace prof::gprof {

class Executions {
 public:
  // `graph` must outlive it. Basic blocks belong to the functions or lines that they begin in.
  Executions(const CallGraph& graph, const std::vector<GmonBlock>& blocks, const Trace& trace = {});

  uint64_t calls(uint32_t f) const { return graph_.functions[f].calls; }
  const std::vector<GmonBlock>& blocks(uint32_t f) const { return blocks_[f]; }  // by address, each once
  const CallGraph& graph() const { return graph_; }

 private:
  const CallGraph& graph_;
  std::vector<std::vector<GmonBlock>> blocks_;  // by function
};

struct ExecutionOptions {
  uint64_t least = 1;                // -m: of lines that were run less, the source has #####
  bool unused = false;               // -z: what was not run, too
  bool all_lines = false;            // -x: lines in the middle of a block, too
  bool separate_files = false;       // -y
  unsigned table_length = 10;        // -t
  std::vector<std::string> folders;  // -I: where sources may be
  std::optional<int64_t> made;       // when the program was made (time_of_change), if that is known
};

// -C: a line for each, by file, line and address.
void print_executions(const Executions& executions, const Choice& choice, const ExecutionOptions& options, Output& out);

// -A: each of the files, in this order. A form feed comes before it if `is_first` is not set. Remarks are of files that
// are not found, or are newer than the program. Throws Error if a file of -y cannot be written.
void print_sources(const Executions& executions, const Choice& choice, const std::vector<std::string>& files,
                   const ExecutionOptions& options, bool is_first, const Trace& trace, Output& out,
                   std::vector<std::string>& remarks);

}  // namespace prof::gprof

#endif
