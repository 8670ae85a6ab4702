#include "istat.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "istat_options.h"
#include "prof/instructions/statistics/memory_statistics.h"
#include "prof/instructions/statistics/statistics_tables.h"
#include "prof/instructions/statistics/statistics_views.h"
#include "prof/instructions/statistics/trace_counts.h"
#include "prof/instructions/trace/trace_reader.h"
#include "prof/views/text/terminal.h"
#include "trace_remarks.h"

namespace prof {

namespace {

using namespace prof_format;

constexpr uint64_t kWindows = 20;  // of the working set, unless --window says otherwise

// Gives all to both.
class Both : public TraceConsumer {
 public:
  Both(TraceConsumer& first, TraceConsumer& second) : first_(first), second_(second) {}
  void new_run(const TraceRun& run, const TraceMemory& memory) override {
    first_.new_run(run, memory);
    second_.new_run(run, memory);
  }
  void run(TracedThread thread, const TraceRun& run, std::span<const AccessValue> accesses) override {
    first_.run(thread, run, accesses);
    second_.run(thread, run, accesses);
  }
  void event(TracedThread thread, const TraceEvent& event) override {
    first_.event(thread, event);
    second_.event(thread, event);
  }

 private:
  TraceConsumer &first_, &second_;
};

class InstructionCount : public TraceConsumer {
 public:
  void new_run(const TraceRun&, const TraceMemory&) override {}
  void run(TracedThread, const TraceRun& run, std::span<const AccessValue>) override { count_ += run.lengths.size(); }
  void event(TracedThread, const TraceEvent&) override {}
  uint64_t count() const { return count_; }

 private:
  uint64_t count_ = 0;
};

// The length of a window that makes kWindows of the whole trace.
uint64_t window_of(const std::string& path) {
  TraceReader reader(path);
  uint64_t instructions = reader.file().end() ? reader.file().end()->instructions : kUnknownTotal;
  if (instructions == kUnknownTotal) {
    InstructionCount count;
    reader.read(count);
    instructions = count.count();
  }
  return std::max<uint64_t>((instructions + kWindows - 1) / kWindows, 1);
}

std::string end_of(const TraceFile& file) {
  if (!file.end() || file.header().origin == kTraceInlined) return "";  // the runtime does not know the status
  if (file.end()->reason == kEndExit) return "exit " + std::to_string(file.end()->status);
  if (file.end()->reason == kEndSignal) return "signal " + std::to_string(file.end()->status);
  return "";
}

const char* origin_of(const TraceFile& file) {
  switch (file.header().origin) {
    case kTraceGdbserver:
      return "gdbserver";
    case kTraceTarget:
      return "proftarget";
    case kTraceInlined:
      return "inlined";
    default:
      return "";
  }
}

TraceSummary summary_of(const TraceCounts& counts, const TraceReader& reader) {
  TraceSummary summary;
  summary.instructions = counts.total();
  summary.loads = counts.loads();
  summary.stores = counts.stores();
  summary.threads = counts.threads();
  summary.system_calls = counts.system_calls();
  summary.signals = counts.signals();
  summary.has_memory = reader.file().header().flags & kTraceMemory;
  summary.command = reader.command();
  summary.origin = origin_of(reader.file());
  summary.is_partial = reader.is_partial();
  summary.end = end_of(reader.file());
  return summary;
}

void show(const IstatOptions& options, Output& out) {
  MemoryOptions memory_options = options.memory;
  if (!options.has_window) memory_options.window = window_of(options.trace);
  TraceReader reader(options.trace);
  TraceNames names(options.debug, options.raw_names);
  TraceCounts counts(names);
  MemoryStatistics memory(memory_options);
  Both both(counts, memory);
  reader.read(both);
  counts.finish();
  memory.finish();
  const TraceSummary summary = summary_of(counts, reader);
  std::vector<StatisticsTable> tables = statistics_tables(counts, memory, names, summary.has_memory);
  std::erase_if(tables, [&](const StatisticsTable& table) {
    return !options.only.empty() && std::ranges::find(options.only, table.name) == options.only.end();
  });
  switch (options.view) {
    case IstatOptions::View::json:
      print_statistics_json(summary, tables, out);
      break;
    case IstatOptions::View::csv:
      print_statistics_csv(summary, tables, out);
      break;
    case IstatOptions::View::text:
      print_statistics_text(summary, tables, options.form, out);
      break;
  }
  out.finish();
  say_trace_remarks(reader, names);
}

}  // namespace

int istat(int argc, char** argv) {
  IstatOptions options = parse_istat_options(argc, argv);
  Output out(stdout, "standard output");
  if (options.help) {
    out.text(istat_help_text());
    out.finish();
    return 0;
  }
  if (const std::optional<TerminalSize> terminal = terminal_size(STDOUT_FILENO))
    options.form.terminal = terminal->columns;
  show(options, out);
  return 0;
}

}  // namespace prof
