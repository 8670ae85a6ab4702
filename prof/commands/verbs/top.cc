// The profile of a running program is complete at every moment, so two looks at it tell what happened between them: the
// differences of calls and of self times, by function. The program takes no part in it.

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>

#include "libprof/printable.h"
#include "linker-rewrite/options/command_line.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/commands/options/message.h"
#include "prof/model/analysis/analysis.h"
#include "prof/read/find.h"
#include "prof/read/profile.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"
#include "prof/views/text/output.h"
#include "prof/views/text/text_columns.h"
#include "verbs.h"

namespace prof {

namespace {

constexpr size_t kRowsInFile = 20;  // of a table that goes to no terminal
constexpr size_t kOtherLines = 3;   // of a terminal: two above the rows, and one below

struct Row {
  std::string name;
  FunctionSum sum;  // of what was added
};

// Calls and self cycles up to now, by object, name and address.
using Sums = std::map<std::tuple<std::string, std::string, uint64_t>, FunctionSum>;

Sums::key_type key_of(const Analysis& a, const Function& f) {
  return {a.functions.objects()[f.object].name(), f.raw_name, f.is_import ? 0 : f.address};
}

Sums sums_of(const Analysis& a) {
  Sums sums;
  for (size_t f = 0; f < a.sums.size(); ++f) sums[key_of(a, a.functions.functions()[f])] = a.sums[f];
  return sums;
}

// What was added since `before`, the most first. Self times are estimates where the hooks' cost was subtracted, and
// may shrink a little.
std::vector<Row> rows_since(const Sums& before, const Analysis& now) {
  std::vector<Row> rows;
  for (size_t f = 0; f < now.sums.size(); ++f) {
    const Function& function = now.functions.functions()[f];
    const auto old = before.find(key_of(now, function));
    const FunctionSum was = old == before.end() ? FunctionSum{} : old->second;
    const FunctionSum& is = now.sums[f];
    Row row = {now.functions.name_with_module(function), {}};
    row.sum.calls = is.calls - std::min(is.calls, was.calls);
    row.sum.self = is.self - std::min(is.self, was.self);
    row.sum.self_waiting = is.self_waiting - std::min(is.self_waiting, was.self_waiting);
    row.sum.self_range = {is.self_range.low - was.self_range.low, is.self_range.high - was.self_range.high};
    row.sum.self_variance = is.self_variance;
    if (row.sum.calls || row.sum.self || row.sum.self_waiting) rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, [](const Row& a, const Row& b) {
    if (a.sum.self != b.sum.self) return a.sum.self > b.sum.self;
    if (a.sum.self_waiting != b.sum.self_waiting) return a.sum.self_waiting > b.sum.self_waiting;
    return a.sum.calls != b.sum.calls ? a.sum.calls > b.sum.calls : a.name < b.name;
  });
  return rows;
}

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}

void wait_until(double when) {
  const double left = when - now();
  if (left <= 0) return;
  timespec t = {time_t(left), long((left - std::floor(left)) * 1e9)};
  nanosleep(&t, nullptr);
}

// `terminal`: the columns that a line may have at most, if there is such a limit.
void print_rows(const std::vector<Row>& rows, const Analysis& a, double seconds, size_t most,
                std::optional<size_t> terminal, bool is_on, Output& out) {
  Shares shares(a);
  double calls = 0;
  for (const Row& r : rows) {
    shares.add(r.sum);
    calls += double(r.sum.calls);
  }
  char line[128];
  std::snprintf(line, sizeof line, "%.1f million calls a second, in %s%s", calls / seconds / 1e6,
                prof_text::count_of(rows.size(), "function").c_str(), is_on ? "" : "; recording is off");
  out.text(wrapped(line, terminal));
  // They have a least width, so that columns do not jump from look to look.
  TextColumn share{"     %"}, self{"      Self", 1}, waiting{"Waiting", 3}, called{"  Calls/s", 2};
  std::vector<NamedLine> lines;
  for (size_t i = 0; i < std::min(rows.size(), most); ++i) {
    const FunctionSum& sum = rows[i].sum;
    const Range range = with_chance(sum.self_range, sum.self_variance);
    share.cells.push_back(shares.of(sum).text());
    self.cells.push_back(a.timed() ? shown_time(a, double(sum.self), range, false) : "-");
    waiting.cells.push_back(duration(a.seconds(sum.self_waiting)));
    called.cells.push_back(decimal(double(sum.calls) / seconds, 0));
    lines.push_back({prof_text::printable(rows[i].name)});
  }
  std::vector<TextColumn> columns = {std::move(share), std::move(self)};
  if (a.has_waiting()) columns.push_back(std::move(waiting));
  columns.push_back(std::move(called));
  print_columns(std::move(columns), lines, terminal, out);
}

using prof_options::Given;
using prof_options::set;

template <auto member, class Number>
void keep_number(TopOptions& o, const Given& given) {
  constexpr Number least = std::is_integral_v<Number> ? Number(1) : std::numeric_limits<Number>::min();
  o.*member = prof_options::number_of(given, least, std::numeric_limits<Number>::max(), "a number greater than 0");
}

const prof_options::Table<TopOptions> kOptions = {
    {{'i', "", "SECONDS", "the time between two tables (default: 1)"}, keep_number<&TopOptions::interval, double>},
    {{'n', "", "TIMES", "end after so many tables"}, keep_number<&TopOptions::times, uint64_t>},
    {{0, "rows", "N", "at most so many functions in each"}, keep_number<&TopOptions::rows, size_t>},
    {{'R', "", "", "raw times: do not subtract what the profiling itself cost"}, set<&TopOptions::raw_times>},
    {{'w', "wide", "", "write names out: neither simplify nor cut them"}, set<&TopOptions::wide>},
    {{0, "raw-names", "", "do not demangle names"}, set<&TopOptions::raw_names>},
    prof_options::help_option<TopOptions>(),
};

}  // namespace

std::string top_help_text() {
  return "usage: prof top [-Rw] [-i SECONDS] [-n TIMES] [--rows N] [--raw-names]\n"
         "                PID|PROFILE\n"
         "\n"
         "Shows which functions a running program is in, anew every second: those of the\n"
         "last second, by time.\n"
         "\n" +
         prof_options::help_of(kOptions, {16}) +
         "\n"
         "See prof(1).\n";
}

TopOptions parse_top_options(int argc, char** argv) {
  TopOptions o;
  const std::vector<std::string> subjects = prof_options::parse(kOptions, {"prof top"}, argc, argv, o).rest;
  if (o.help) return o;
  if (subjects.size() != 1)
    throw UsageError("top: name one process or profile; prof top [-Rw] [-i SECONDS] [-n TIMES] [--rows N] PID");
  o.subject = subjects[0];
  return o;
}

int top(const TopOptions& options) {
  const auto [path, remarks] = find_profile(options.subject);
  say_all(remarks);
  const Input input = {.program = "",
                       .profiles = {path},
                       .raw_names = options.raw_names,
                       .raw_times = options.raw_times,
                       .remarks = false,
                       .whole_names = options.wide,
                       .blocks = Listed::executed};
  if (!Profile::read(path).is_live()) throw Error(path + ": the program has ended; prof shows what it did");
  const Analysis first = analyse(input);
  std::set<std::string> said;  // a library may be missing in each table
  auto say_new = [&](const std::vector<std::string>& all) {
    for (const std::string& remark : all)
      if (said.insert(remark).second) say(remark);
  };
  say_new(first.remarks);
  Sums before = sums_of(first);
  double last = now();
  Output out(stdout, "standard output");
  for (uint64_t n = 0; options.times == 0 || n < options.times; ++n) {
    wait_until(last + options.interval);
    const Profile profile = Profile::read(path);
    const Analysis a = analyse(input);
    say_new(a.remarks);
    const double seconds = std::max(now() - last, 1e-6);
    last += seconds;
    const std::optional<TerminalSize> terminal = terminal_size(STDOUT_FILENO);
    const size_t room = !terminal ? kRowsInFile : terminal->rows > kOtherLines ? terminal->rows - kOtherLines : 1;
    if (terminal)
      out.text("\x1b[H\x1b[J");
    else if (n > 0)
      out.text("\n");
    print_rows(rows_since(before, a), a, seconds, options.rows > 0 ? options.rows : room,
               terminal && !options.wide ? std::optional(terminal->columns) : std::nullopt, profile.recording().is_on,
               out);
    out.finish();
    if (!profile.is_live()) {
      say(path + ": the program has ended");
      break;
    }
    before = sums_of(a);
  }
  return 0;
}

}  // namespace prof
