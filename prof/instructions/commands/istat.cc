#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "commands.h"
#include "linker-rewrite/options/command_line.h"
#include "prof/commands/options/message.h"
#include "prof/instructions/statistics/memory_statistics.h"
#include "prof/instructions/statistics/statistics_tables.h"
#include "prof/instructions/statistics/trace_counts.h"
#include "prof/instructions/trace/trace_names.h"
#include "prof/instructions/trace/trace_reader.h"
#include "prof/views/text/output.h"
#include "trace_command_line.h"

namespace prof {

namespace {

// The command line of prof istat.

using prof_options::Given;

struct IstatOptions {
  enum class View { text, json, csv };
  View view = View::text;
  std::vector<std::string> only;  // names of tables; empty: all
  StatisticsForm form;
  MemoryOptions memory;
  bool has_window = false;
  DebugSearch debug;
  bool raw_names = false;
  bool help = false;
  std::string trace;
};

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

CacheShape cache_of(const Given& given) {
  const std::vector<std::string> parts = parts_of(given.argument);
  if (parts.size() != 3) prof_options::refuse(given, "cache", "SIZE,WAYS,LINE, as 32K,8,64");
  CacheShape shape;
  shape.size = prof_options::size_of(given, parts[0]);
  shape.ways = prof_options::number_of<uint64_t>(given, parts[1], 1, 1 << 20, "a number of ways");
  shape.line = prof_options::number_of<uint64_t>(given, parts[2], 1, 1 << 20, "the length of a line");
  const std::string problem = problem_of(shape);
  if (!problem.empty()) throw UsageError(given.option + ": invalid cache '" + given.argument + "'; " + problem);
  return shape;
}

std::vector<std::string> tables_of(const Given& given) {
  const std::vector<std::string>& known = statistics_table_names();
  std::vector<std::string> names = parts_of(given.argument);
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      prof_options::refuse({given.option, name}, "table", prof_options::listed(known));
  return names;
}

template <IstatOptions::View view>
void show(IstatOptions& o, const Given&) {
  o.view = view;
}

CacheShapes& caches_of(IstatOptions& options) {
  if (!options.memory.caches) options.memory.caches.emplace();
  return *options.memory.caches;
}

template <auto member>
void take_cache(IstatOptions& o, const Given& given) {
  caches_of(o).*member = cache_of(given);
}

void take_tables(IstatOptions& o, const Given& given) {
  o.only = tables_of(given);
  o.memory.with_reuse |= std::ranges::find(o.only, "reuse") != o.only.end();
  if (std::ranges::find(o.only, "cache") != o.only.end()) caches_of(o);
}

const prof_options::Table<IstatOptions> kOptions = {
    {{0, "only", "TABLES",
      "only some tables: functions, lines, mix, branches, targets, regions, working-set, reuse, cache; with commas in "
      "between"},
     take_tables},
    {{'n', "rows", "N", "the first N rows of a table; 20 unless this says otherwise"},
     [](IstatOptions& o, const Given& given) {
       o.form.rows = prof_options::number_of<size_t>(given, 0, SIZE_MAX, "a number of rows");
     }},
    {{0, "all", "", "all rows"}, [](IstatOptions& o, const Given&) { o.form.rows = SIZE_MAX; }},
    {{0, "window", "N", "the working set in windows of N instructions, not in 20 of equal length"},
     [](IstatOptions& o, const Given& given) {
       o.memory.window = prof_options::number_of<uint64_t>(given, 1, UINT64_MAX, "a number of instructions");
       o.has_window = true;
     }},
    {{0, "reuse", "", "also how many other lines of memory were touched before one was touched again"},
     [](IstatOptions& o, const Given&) { o.memory.with_reuse = true; }},
    {{0, "cache", "", "also how often caches would have missed"}, [](IstatOptions& o, const Given&) { caches_of(o); }},
    {{0, "I1", "SIZE,WAYS,LINE",
      "the same with a cache like this one for instructions; 32K,8,64 unless this says otherwise"},
     take_cache<&CacheShapes::instructions>},
    {{0, "D1", "SIZE,WAYS,LINE", "the same for data"}, take_cache<&CacheShapes::data>},
    {{0, "LL", "SIZE,WAYS,LINE", "the same for the last level; 8M,16,64 unless this says otherwise"},
     take_cache<&CacheShapes::last>},
    {{0, "json", "", "everything as JSON"}, show<IstatOptions::View::json>},
    {{0, "csv", "", "everything as CSV"}, show<IstatOptions::View::csv>},
    {{0, "debug-dir", "DIR", "look for debug files of stripped programs in DIR, too (repeatable)"},
     [](IstatOptions& o, const Given& given) { o.debug.folders.push_back(given.argument); }},
    {{0, "raw-names", "", "do not demangle names"}, prof_options::set<&IstatOptions::raw_names>},
    prof_options::help_option<IstatOptions>(),
};

// prof istat --help
std::string istat_help_text() {
  return "usage: prof istat [options] TRACE\n"
         "\n"
         "Shows what a trace of instructions adds up to: instructions by function, by\n"
         "line of the source and by kind; how often branches were taken, and where\n"
         "indirect jumps and calls led; the stretches of code that ran most; and the\n"
         "pages and lines of memory that were used, by time. A trace is what prof trace\n"
         "wrote, or trace.PID of a program that profld --trace rewrote.\n"
         "\n" +
         prof_options::help_of(kOptions, {20}) +
         "\n"
         "See prof-istat(1).\n";
}

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
  IstatOptions options = parse_trace_command_line(kOptions, "istat", argc, argv, {{{"--json"}, {"--csv"}}});
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
