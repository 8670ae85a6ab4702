#include "report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "libprof/printable.h"
#include "linker-rewrite/names/demangle.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/gprof/graph/assemble.h"
#include "prof/gprof/graph/measured.h"
#include "prof/gprof/symbols/symbols.h"
#include "prof/model/gmon/gmon_of.h"
#include "prof/read/error.h"

namespace prof::gprof {

namespace {

// What the columns of gprof's tables are, for those who see them for the first time.

const char* const kFlatExplanation = R"(
 % time      the function's own time, as a part of all
 cumulative  own times of this function and of all above it, added up
 self        own time: without what the function called
 calls       how often others called it; empty if nobody knows
 self/call   own time by call
 total/call  time by call with what the function called
 name        rows stand in the order of own time, then of calls, then of names
)";

const char* const kGraphExplanation = R"(
 Each entry is of one function: the line that begins with a number in brackets.
 Above it stand those that called it, below it those that it called.

 Of the function itself:
 index     its number; entries stand in the order of self and children together
 % time    its time with what it called, as a part of all
 self      its own time
 children  the time of what it called
 called    how often others called it + how often it called itself

 Of a caller: which part of the function's self and children times belongs to
 its calls, and how many of all calls it made. <spontaneous>: no caller is known.

 Of a function that was called: which part of its own self and children times
 belongs to these calls, and how many of all its calls they are.

 Functions that call each other in a circle are a cycle. The cycle as a whole
 has an entry, with its calls from outside + those within, and its members below.
)";

std::string source(const Function& function, bool full_paths) {
  const size_t slash = function.file.rfind('/');
  return prof_text::printable(full_paths || slash == std::string::npos ? function.file
                                                                       : function.file.substr(slash + 1));
}

}  // namespace

void Report::begin_table() {
  if (!is_first_) out_.text("\f\n");
  is_first_ = false;
}

long Report::bytes_by_bin() const { return long(std::min(graph_.scale, 1e18)) * 2; }

Report::Unit Report::unit() const {
  const double seconds = graph_.total_ticks / graph_.rate;
  if (!graph_.is_measured || seconds >= 10 || seconds <= 0) return {graph_.rate, graph_.dimension};
  return seconds >= 0.01 ? Unit{graph_.rate / 1e3, "ms"} : Unit{graph_.rate / 1e6, "us"};
}

std::string Report::name(uint32_t function) const {
  const Function& f = graph_.functions[function];
  if (graph_.is_cycle(function)) return formatted("<cycle %u>", f.cycle);
  std::string name = f.printed;
  if (name.empty()) name = options_.demangled && !options_.bsd ? prof_names::demangled_by_binutils(f.name) : f.name;
  name = prof_text::printable(name);
  if (!f.file.empty() && (options_.lines || options_.file_names)) {
    name += " (" + source(f, options_.full_paths) + formatted(":%u", f.line);
    if (options_.lines) name += formatted(" @ %llx", static_cast<unsigned long long>(f.address));
    name += ")";
  }
  return name;
}

std::string Report::source_name(uint32_t function) const {
  return source(graph_.functions[function], options_.full_paths);
}

const std::string& Report::name_with_index(uint32_t function) {
  names_with_index_.resize(graph_.functions.size());
  std::string& text = names_with_index_[function];
  if (!text.empty()) return text;
  const Function& f = graph_.functions[function];
  text = name(function);
  if (f.cycle != 0 && !graph_.is_cycle(function)) text += formatted(" <cycle %u>", f.cycle);
  if (f.index != 0 && !f.is_outside) text += formatted(f.is_printed ? " [%u]" : " (%u)", f.index);
  return text;
}

void Report::print() {
  const bool has_graph = graph_.has_arcs;
  if (has_graph && options_.bsd) print_call_graph();
  if (graph_.has_histogram) print_flat_profile();
  if (has_graph && !options_.bsd) print_call_graph();
  if (has_graph) print_index();
}

// gprof's flat profile: the functions, what part of the time each had, and what its calls took.

namespace {

struct Prefix {
  char letter;
  double factor;
};

constexpr std::array<Prefix, 11> kPrefixes = {{{'T', 1e-12},
                                               {'G', 1e-09},
                                               {'M', 1e-06},
                                               {'K', 1e-03},
                                               {' ', 1},
                                               {'m', 1e+03},
                                               {'u', 1e+06},
                                               {'n', 1e+09},
                                               {'p', 1e+12},
                                               {'f', 1e+15},
                                               {'a', 1e+18}}};
constexpr Prefix kMilli = kPrefixes[5];

// The unit in which the longest time of a call has one to three digits before the point. gprof takes the greatest unit
// if no call has any time.
Prefix prefix_of(const CallGraph& graph) {
  double longest = 0;
  for (uint32_t f = 0; f < graph.function_count; ++f) {
    const Function& function = graph.functions[f];
    if (function.calls != 0)
      longest = std::max(longest, (function.ticks + function.child_ticks) / double(function.calls));
  }
  if (longest <= 0) return kPrefixes.front();
  longest /= graph.rate;
  const auto fits = std::find_if(kPrefixes.begin(), kPrefixes.end(), [&](const Prefix& prefix) {
    return prefix.factor * longest >= 1 && prefix.factor * longest < 1000;
  });
  return fits == kPrefixes.end() ? kPrefixes.back() : *fits;
}

}  // namespace

void Report::print_flat_header(double total, char prefix) {
  const std::string per_call = formatted("%c%c/call", prefix, graph_.abbreviation);
  const std::string unit_name = unit().name;
  const char* const dimension = unit_name.c_str();
  if (graph_.is_measured) {
    out_.text(formatted(
        graph_.sample > 0 ? "\nEach sample counts as %g %.15s.\n" : "\nTimes are measured, in ticks of %g %.15s.\n",
        std::max(1.0, graph_.sample) / graph_.rate, graph_.dimension.c_str()));
  } else if (options_.bsd) {
    out_.text(formatted("\ngranularity: each sample hit covers %ld byte(s)", bytes_by_bin()));
    if (total > 0) out_.text(formatted(" for %.2f%% of %.2f %.15s\n\n", 100.0 / total, total / graph_.rate, dimension));
  } else {
    out_.text(formatted("\nEach sample counts as %g %.15s.\n", 1 / graph_.rate, dimension));
  }
  if (total <= 0) out_.text(" no time accumulated\n\n");
  out_.text(formatted("%5.5s %10.10s %8.8s %8.8s %8.8s %8.8s  %-8.8s\n", "%  ", "cumulative", "self  ", "", "self  ",
                      "total ", ""));
  out_.text(formatted("%5.5s %9.9s  %8.8s %8.8s %8.8s %8.8s  %-8.8s\n", "time", dimension, dimension, "calls",
                      per_call.c_str(), per_call.c_str(), "name"));
}

void Report::print_flat_profile() {
  begin_table();
  if (!options_.bsd) {
    out_.text("Flat profile:\n");
  } else if (options_.explains) {
    out_.text("\n\n\nflat profile:\n");
    out_.text(kFlatExplanation);
  }
  const Prefix prefix = options_.bsd ? kMilli : prefix_of(graph_);
  print_flat_header(graph_.total_ticks, prefix.letter);

  const double total = graph_.total_ticks > 0 ? graph_.total_ticks : 1, rate = unit().rate;
  double sum = 0;
  for (const uint32_t row : by_own_time(graph_)) {
    const Function& f = graph_.functions[row];
    if (!selection_.flat.holds(row) || f.is_outside) continue;
    if (!options_.unused && f.calls == 0 && f.ticks == 0) continue;
    sum += f.ticks;
    out_.text(formatted(options_.bsd ? "%5.1f %10.2f %8.2f" : "%6.2f %9.2f %8.2f", 100 * f.ticks / total, sum / rate,
                        f.ticks / rate));
    if (f.calls != 0) {
      const auto calls = double(f.calls);
      out_.text(formatted(" %8lu %8.2f %8.2f  ", static_cast<unsigned long>(f.calls),
                          prefix.factor * f.ticks / graph_.rate / calls,
                          prefix.factor * (f.ticks + f.child_ticks) / graph_.rate / calls));
    } else {
      out_.text(formatted(" %8.8s %8.8s %8.8s  ", "", "", ""));
    }
    out_.text(options_.bsd ? name_with_index(row) : name(row));
    out_.text("\n");
  }
  if (options_.explains && !options_.bsd) out_.text(kFlatExplanation);
}

// gprof's call graph: for each function its callers, a line of its own, and what it called; then a rule. A cycle has an
// entry as well, with its members.

namespace {

unsigned long plain(uint64_t number) { return number; }

}  // namespace

void Report::print_graph_header(double total) {
  begin_table();
  if (!options_.bsd)
    out_.text(options_.explains ? "\t\t     Call graph (explanation follows)\n\n" : "\t\t\tCall graph\n\n");
  if (graph_.is_measured)
    out_.text(graph_.sample > 0 ? "\ntimes of calls are those of samples" : "\ntimes of calls are measured");
  else
    out_.text(formatted("\ngranularity: each sample hit covers %ld byte(s)", bytes_by_bin()));
  if (total <= 0)
    out_.text(" no time propagated\n\n");
  else if (graph_.is_measured)
    out_.text(formatted(", 100%% are %.2f %.15s\n\n", total / unit().rate, unit().name.c_str()));
  else
    out_.text(formatted(" for %.2f%% of %.2f seconds\n\n", 100.0 / total, total / graph_.rate));
  if (!options_.bsd) {
    out_.text("index % time    self  children    called     name\n");
    return;
  }
  const char* const callers = "%6.6s %5.5s %7.7s %11.11s %7.7s/%-7.7s     %-8.8s\n";
  out_.text(formatted(callers, "", "", "", "", "called", "total", "parents"));
  out_.text(formatted("%-6.6s %5.5s %7.7s %11.11s %7.7s+%-7.7s %-8.8s\t%5.5s\n", "index", "%time", "self",
                      "descendants", "called", "self", "name", "index"));
  out_.text(formatted(callers, "", "", "", "", "called", "total", "children"));
  out_.text("\n");
}

// Samples also find callers of what was called in a context of which no call is known.
bool Report::are_calls_known(const Arc& arc) const {
  return graph_.functions[arc.callee].has_calls && (arc.calls != 0 || !arc.is_estimate);
}

void Report::add_calls(const Arc& arc) {
  if (!are_calls_known(arc))
    line_.blanks(6).text("-");
  else if (arc.is_estimate && options_.marks_estimates)
    line_.right_marked(arc.calls, 7);
  else
    line_.right(arc.calls, 7);
}

// The line of a caller, or of a function called: the one that the entry is not of.
void Report::print_arc(const Arc& arc, uint32_t other) {
  const bool is_within = graph_.is_within_cycle(arc);
  const double rate = unit().rate;
  const size_t wide = options_.bsd ? 11 : 7;  // the column of the children's time
  line_.blanks(6 + 1 + 5 + 1);
  // gprof knows no times of calls within a cycle.
  if (is_within && (!graph_.is_measured || arc.caller == arc.callee)) {
    line_.blanks(7 + 1 + wide + 1);
    add_calls(arc);
    line_.blanks(1 + 7);
  } else {
    line_.right(arc.ticks / rate, 7).blanks(1).right(arc.child_ticks / rate, wide).blanks(1);
    add_calls(arc);
    const uint32_t head = graph_.functions[arc.callee].head;
    if (is_within || !are_calls_known(arc))
      line_.blanks(1 + 7);
    else
      line_.text("/").left(graph_.functions[head].calls, 7);
  }
  out_.text(line_.blanks(5).text(name_with_index(other)).text("\n").take());
}

void Report::print_callers(uint32_t function) {
  const std::vector<uint32_t> callers = callers_in_order(graph_, function, trace_);
  bool is_known = false;
  for (const uint32_t a : callers) is_known = is_known || !graph_.functions[graph_.arcs[a].caller].is_outside;
  if (!is_known) {
    out_.text(formatted(options_.bsd ? "%6.6s %5.5s %7.7s %11.11s %7.7s %7.7s     <spontaneous>\n"
                                     : "%6.6s %5.5s %7.7s %7.7s %7.7s %7.7s     <spontaneous>\n",
                        "", "", "", "", "", ""));
    return;
  }
  for (const uint32_t a : callers) print_arc(graph_.arcs[a], graph_.arcs[a].caller);
}

void Report::print_entry(uint32_t function, double total) {
  print_callers(function);
  const double rate = unit().rate;
  const Function& f = graph_.functions[function];
  out_.text(formatted(options_.bsd ? "%-6.6s %5.1f %7.2f %11.2f" : "%-6.6s %5.1f %7.2f %7.2f",
                      formatted("[%u]", f.index).c_str(), 100 * (f.self_shown + f.children_shown) / total,
                      f.self_shown / rate, f.children_shown / rate));
  if (f.calls + f.self_calls == 0)
    out_.text(formatted(" %7.7s %7.7s ", "", ""));
  else if (f.self_calls != 0)
    out_.text(formatted(" %7lu+%-7lu ", plain(f.calls), plain(f.self_calls)));
  else
    out_.text(formatted(" %7lu %7.7s ", plain(f.calls), ""));
  out_.text(name_with_index(function) + "\n");
  for (const uint32_t a : callees_in_order(graph_, function, trace_)) print_arc(graph_.arcs[a], graph_.arcs[a].callee);
}

void Report::print_cycle(uint32_t cycle, double total) {
  const double rate = unit().rate;
  const auto times = [&](const std::string& index, const std::string& percent, const Function& f) {
    const std::string calls = f.has_calls ? std::to_string(f.calls) : "-";
    out_.text(formatted(options_.bsd ? "%-6.6s %5.5s %7.2f %11.2f %7s" : "%-6.6s %5.5s %7.2f %7.2f %7s", index.c_str(),
                        percent.c_str(), f.self_shown / rate, f.children_shown / rate, calls.c_str()));
    out_.text(f.self_calls != 0 ? formatted("+%-7lu", plain(f.self_calls)) : formatted(" %7.7s", ""));
  };
  const Function& whole = graph_.functions[cycle];
  times(formatted("[%u]", whole.index), formatted("%5.1f", 100 * (whole.self_shown + whole.children_shown) / total),
        whole);
  out_.text(formatted(" <cycle %u as a whole> [%u]\n", whole.cycle, whole.index));
  for (const uint32_t member : members_in_order(graph_, cycle)) {
    times("", "", graph_.functions[member]);
    out_.text("     " + name_with_index(member) + "\n");
  }
}

void Report::print_call_graph() {
  if (options_.explains && options_.bsd) out_.text(kGraphExplanation);
  print_graph_header(graph_.shown_ticks);
  const double total = graph_.shown_ticks > 0 ? graph_.shown_ticks : 1;
  for (const uint32_t entry : graph_.entries) {
    const Function& f = graph_.functions[entry];
    const bool is_used = f.calls != 0 || f.self_calls != 0 || f.self_shown != 0 || f.children_shown != 0;
    if ((!is_used && !options_.unused) || !f.is_printed || (options_.lines && !f.is_function)) continue;
    if (graph_.is_cycle(entry))
      print_cycle(entry, total);
    else
      print_entry(entry, total);
    out_.text(options_.bsd ? "\n-----------------------------------------------\n\n"
                           : "-----------------------------------------------\n");
  }
  if (options_.explains && !options_.bsd) out_.text(kGraphExplanation);
}

// gprof's index: all functions by name, in three columns, with their numbers in the call graph.

namespace {

constexpr size_t kColumns = 3;

}  // namespace

// One cell of a line. `column`: how many characters the line has; not all, as gprof counts, which forgets two blanks.
// `start`: where the cell is to begin.
std::string Report::index_cell(uint32_t function, size_t& column, size_t start) const {
  const Function& f = graph_.functions[function];
  const std::string number = formatted(f.is_printed ? "[%u]" : "(%u)", f.index);
  const bool is_cycle = graph_.is_cycle(function);
  if (options_.bsd)
    return formatted("%6.6s ", number.c_str()) +
           formatted("%-19.19s", is_cycle ? name(function).c_str() : f.name.c_str());
  std::string text;
  column += number.size();
  for (; column < start + 5; ++column) text += ' ';
  text += " " + number + " ";
  const std::string shown = name(function);
  text += shown;
  column += shown.size();
  if (is_cycle || options_.lines || !f.is_static || f.file.empty()) return text;
  const std::string file = source_name(function);
  column += file.size() + 3;
  return text + " (" + file + ")";
}

void Report::print_index() {
  out_.text("\f\nIndex by function name\n\n");
  const std::vector<uint32_t> functions = by_name(graph_, options_.unused);
  const size_t lines = (functions.size() + kColumns - 1) / kColumns, width = (options_.width - 1) / kColumns;
  for (size_t line = 0; line < lines; ++line) {
    size_t column = 0, start = 0;
    for (size_t i = line; i < functions.size(); i += lines, start += width)
      out_.text(index_cell(functions[i], column, start));
    out_.text("\n");
  }
}

namespace {

CallGraph graph_of(std::vector<Function> functions, const Gmon& gmon, const Object& object) {
  Selection selection;
  leave_out_runtime(functions, selection);
  CallGraph graph = call_graph_of(std::move(functions), gmon, selection);
  assemble(graph, selection);
  // The index names the files of static functions.
  for (const ElfFile& file : object.files())
    add_sources(graph.functions, file, [](const Function& function) {
      return function.is_static && function.file.empty() && (function.calls != 0 || function.ticks != 0);
    });
  return graph;
}

}  // namespace

CallGraph graph_as_gprof(const Analysis& analysis, uint32_t object, const DebugSearch& search) {
  std::vector<std::string> ignored;  // prof -g ignores them, too
  const Gmon gmon = gmon_of(analysis, object, nullptr, call_sites(analysis, search, ignored));
  return graph_of(symbols_of(analysis, object), gmon, analysis.functions.objects()[object]);
}

CallGraph graph_as_gprof(const Object& program, const Gmon& gmon) {
  return graph_of(symbols_of(program), gmon, program);
}

namespace {

constexpr std::string_view kMagic = "gmon";
constexpr uint32_t kVersion44 = 0x00051879;  // of 4.4BSD's format

// The number at an offset, or 0 after the end.
template <class T>
T number_at(std::string_view bytes, uint64_t offset) {
  T number = 0;
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof number)
    std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

// Two addresses, the size of both and the samples; 4.4BSD has a version, a rate and three words more. Then arcs.
RecordCounts records_of_bsd(std::string_view bytes) {
  constexpr uint64_t kOldHeader = 20, kArc = 24;
  const uint64_t rest = bytes.size() - std::min<uint64_t>(bytes.size(), number_at<uint32_t>(bytes, 16));
  RecordCounts counts;
  counts.histograms = bytes.size() >= kOldHeader;
  counts.version = number_at<uint32_t>(bytes, kOldHeader) == kVersion44 ? kVersion44 : 0;
  counts.arcs = rest / kArc;
  return counts;
}

}  // namespace

RecordCounts records_in(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return records_of_bsd(bytes);
  constexpr uint64_t kHeader = 20, kHistogram = 40, kArc = 20, kBlock = 16;
  RecordCounts counts;
  counts.version = number_at<uint32_t>(bytes, 4);
  for (uint64_t at = kHeader; at < bytes.size();) {
    const char kind = bytes[at++];
    if (kind == 0) {
      ++counts.histograms;
      at += kHistogram + 2 * uint64_t(number_at<uint32_t>(bytes, at + 16));
    } else if (kind == 1) {
      ++counts.arcs;
      at += kArc;
    } else if (kind == 2) {
      ++counts.blocks;
      at += 4 + kBlock * number_at<uint32_t>(bytes, at);
    } else {
      break;
    }
  }
  return counts;
}

std::string file_info(const std::string& path, const RecordCounts& counts) {
  const auto line = [](uint64_t count, const char* kind) {
    return "\t" + prof_text::count_of(count, std::string(kind) + " record") + "\n";
  };
  return "File `" + path + "' (version " + std::to_string(counts.version) + ") contains:\n" +
         line(counts.histograms, "histogram") + line(counts.arcs, "call-graph") +
         line(counts.blocks, "basic-block count");
}

namespace {

constexpr double kMinShare = 0.001;  // of the whole time
constexpr double kGrain = 1e-6;      // of the same: differences that differ by less are equal

struct Row {
  uint32_t arc;
  double measured, guessed;  // ticks

  double difference() const { return measured - guessed; }
};

double ticks(const Arc& arc) { return arc.ticks + arc.child_ticks; }

}  // namespace

void print_fallacy(const Analysis& analysis, std::optional<size_t> most_rows, Output& out) {
  if (!analysis.timed())
    throw Error("--fallacy compares times, and this profile has none; record it with another PROFTYPE than count");
  const MeasuredAndPropagated graphs = measured_and_propagated_graph(analysis);
  const CallGraph &measured = graphs.measured, &guessed = graphs.propagated;
  std::vector<Row> rows;
  for (uint32_t a = 0; a < measured.arcs.size(); ++a)
    if (!measured.is_within_cycle(measured.arcs[a]))
      rows.push_back({a, ticks(measured.arcs[a]), ticks(guessed.arcs[a])});
  // A wrong time is wrong in the arcs of all callers further up, too: the one nearest to its source comes first.
  const double grain = std::max(1.0, kGrain * measured.total_ticks);
  const auto rank = [&](const Row& row) {
    return std::pair(-std::round(std::abs(row.difference()) / grain),
                     measured.functions[measured.arcs[row.arc].callee].order);
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return rank(a) < rank(b); });
  if (most_rows) rows.resize(std::min(rows.size(), *most_rows));
  const double least = most_rows ? 0 : kMinShare * measured.total_ticks;
  std::erase_if(rows, [&](const Row& row) { return std::abs(row.difference()) <= least; });
  if (rows.empty()) {
    out.text("gprof would have been right: no arc differs by more than 0.1% of the time.\n");
    return;
  }
  out.text(formatted("%12s %12s %12s %12s  %s\n", "measured", "gprof's", "difference", "calls", "caller -> callee"));
  out.text(formatted("%12s %12s %12s\n", "seconds", "seconds", "seconds"));
  for (const Row& row : rows) {
    const Arc& arc = measured.arcs[row.arc];
    out.text(formatted("%12.6f %12.6f %+12.6f %12llu  ", row.measured / measured.rate, row.guessed / measured.rate,
                       row.difference() / measured.rate, static_cast<unsigned long long>(arc.calls)));
    out.text(prof_text::printable(measured.functions[arc.caller].printed) + " -> " +
             prof_text::printable(measured.functions[arc.callee].printed) + "\n");
  }
}

}  // namespace prof::gprof
