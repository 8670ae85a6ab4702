#include "istat.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "prof/commands/options/message.h"
#include "prof/commands/options/option_values.h"
#include "prof/instructions/statistics/memory_statistics.h"
#include "prof/instructions/statistics/statistics_tables.h"
#include "prof/instructions/statistics/trace_counts.h"
#include "prof/instructions/trace/trace_names.h"
#include "prof/instructions/trace/trace_reader.h"
#include "prof/views/text/terminal.h"
#include "trace_command_line.h"

namespace prof {

namespace {

// The command line of prof istat.

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

constexpr char kHelp[] =
    "usage: prof istat [options] TRACE\n"
    "\n"
    "Shows what a trace of instructions adds up to: instructions by function, by\n"
    "line of the source and by kind; how often branches were taken, and where\n"
    "indirect jumps and calls led; the stretches of code that ran most; and the\n"
    "pages and lines of memory that were used, by time. A trace is what prof trace\n"
    "wrote, or trace.PID of a program that profld --trace rewrote.\n"
    "\n"
    "  --only TABLES     only some tables: functions, lines, mix, branches, targets,\n"
    "                    regions, working-set, reuse, cache; with commas in between\n"
    "  -n, --rows N      the first N rows of a table; 20 unless this says otherwise\n"
    "  --all             all rows\n"
    "  --window N        the working set in windows of N instructions, not in 20 of\n"
    "                    equal length\n"
    "  --reuse           also how many other lines of memory were touched before one\n"
    "                    was touched again\n"
    "  --cache           also how often caches would have missed\n"
    "  --I1 SIZE,WAYS,LINE, --D1 SIZE,WAYS,LINE, --LL SIZE,WAYS,LINE\n"
    "                    the same with caches like these: that of instructions, that\n"
    "                    of data, and the last level; 32K,8,64 and 8M,16,64 unless\n"
    "                    these say otherwise\n"
    "  --json            everything as JSON\n"
    "  --csv             everything as CSV\n"
    "  --debug-dir DIR   look for debug files of stripped programs in DIR, too\n"
    "                    (repeatable)\n"
    "  --raw-names       do not demangle names\n"
    "  -h, --help        print this\n"
    "\n"
    "See prof-istat(1).\n";

enum LongOption {
  option_only = 256,
  option_all,
  option_window,
  option_reuse,
  option_cache,
  option_first_instructions,
  option_first_data,
  option_last_level,
  option_json,
  option_csv,
  option_debug_dir,
  option_raw_names
};

const option kWords[] = {{"only", required_argument, nullptr, option_only},
                         {"rows", required_argument, nullptr, 'n'},
                         {"all", no_argument, nullptr, option_all},
                         {"window", required_argument, nullptr, option_window},
                         {"reuse", no_argument, nullptr, option_reuse},
                         {"cache", no_argument, nullptr, option_cache},
                         {"I1", required_argument, nullptr, option_first_instructions},
                         {"D1", required_argument, nullptr, option_first_data},
                         {"LL", required_argument, nullptr, option_last_level},
                         {"json", no_argument, nullptr, option_json},
                         {"csv", no_argument, nullptr, option_csv},
                         {"debug-dir", required_argument, nullptr, option_debug_dir},
                         {"raw-names", no_argument, nullptr, option_raw_names},
                         {"help", no_argument, nullptr, 'h'},
                         {nullptr, 0, nullptr, 0}};

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

CacheShape cache_of(const std::string& option_name, const std::string& text) {
  const std::vector<std::string> parts = parts_of(text);
  if (parts.size() != 3) throw UsageError("istat " + option_name + " " + text + ": is no cache: SIZE,WAYS,LINE");
  CacheShape shape;
  shape.size = parse_size("istat " + option_name, parts[0]);
  shape.ways = parse_number<uint64_t>("istat " + option_name, parts[1], 1, 1 << 20, "number of ways");
  shape.line = parse_number<uint64_t>("istat " + option_name, parts[2], 1, 1 << 20, "length of a line");
  const std::string problem = problem_of(shape);
  if (!problem.empty()) throw UsageError("istat " + option_name + " " + text + ": " + problem);
  return shape;
}

std::vector<std::string> tables_of(const std::string& text) {
  const std::vector<std::string>& known = statistics_table_names();
  std::vector<std::string> names = parts_of(text);
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end())
      throw UsageError("istat --only " + name + ": there is no such table; prof istat --help lists them");
  return names;
}

void set_view(IstatOptions& options, IstatOptions::View view) {
  if (options.view != IstatOptions::View::text && options.view != view)
    throw UsageError("istat: --json and --csv exclude each other");
  options.view = view;
}

CacheShapes& caches_of(IstatOptions& options) {
  if (!options.memory.caches) options.memory.caches.emplace();
  return *options.memory.caches;
}

bool take_analysis(int letter, const std::string& argument, IstatOptions& o) {
  switch (letter) {
    case option_window:
      o.memory.window = parse_number<uint64_t>("istat --window", argument, 1, UINT64_MAX, "number of instructions");
      o.has_window = true;
      return true;
    case option_reuse:
      o.memory.with_reuse = true;
      return true;
    case option_cache:
      caches_of(o);
      return true;
    case option_first_instructions:
      caches_of(o).instructions = cache_of("--I1", argument);
      return true;
    case option_first_data:
      caches_of(o).data = cache_of("--D1", argument);
      return true;
    case option_last_level:
      caches_of(o).last = cache_of("--LL", argument);
      return true;
    case option_debug_dir:
      o.debug.folders.push_back(argument);
      return true;
    case option_raw_names:
      o.raw_names = true;
      return true;
    default:
      return false;
  }
}

bool take_view(int letter, const std::string& argument, IstatOptions& o) {
  switch (letter) {
    case option_only:
      o.only = tables_of(argument);
      o.memory.with_reuse |= std::ranges::find(o.only, "reuse") != o.only.end();
      if (std::ranges::find(o.only, "cache") != o.only.end()) caches_of(o);
      return true;
    case 'n':
      o.form.rows = parse_number<size_t>("istat --rows", argument, 0, SIZE_MAX, "number of rows");
      return true;
    case option_all:
      o.form.rows = SIZE_MAX;
      return true;
    case option_json:
      set_view(o, IstatOptions::View::json);
      return true;
    case option_csv:
      set_view(o, IstatOptions::View::csv);
      return true;
    case 'h':
      o.help = true;
      return true;
    default:
      return false;
  }
}

// prof istat --help
std::string istat_help_text() { return kHelp; }

// Throws UsageError. `argv[0]` is skipped.
IstatOptions parse_istat_options(int argc, char** argv) {
  IstatOptions o;
  const auto take = [&o](int c, const std::string& argument) {
    return take_analysis(c, argument, o) || take_view(c, argument, o);
  };
  o.trace = parse_trace_command_line(argc, argv, {"istat", ":n:h", kWords, take}, o.help);
  return o;
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
