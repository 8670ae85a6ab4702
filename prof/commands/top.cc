// The profile of a running program is complete at every moment, so two looks at it tell what happened between them: the
// differences of calls and of self times, by function. The program takes no part in it.

#include "top.h"

#include <getopt.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "libprof/printable.h"
#include "message.h"
#include "prof/model/analysis.h"
#include "prof/read/find.h"
#include "prof/read/profile.h"
#include "prof/views/numbers.h"
#include "prof/views/output.h"

namespace prof {

namespace {

constexpr size_t kRowsInFile = 20;  // of a table that goes to no terminal

struct Row {
  std::string name;
  uint64_t calls, self, waiting;
  Range range;  // of self
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

// What was added since `before`, the most first. Self times are estimates where the probe's cost was subtracted, and
// may shrink a little.
std::vector<Row> rows_since(const Sums& before, const Analysis& now) {
  std::vector<Row> rows;
  for (size_t f = 0; f < now.sums.size(); ++f) {
    const Function& function = now.functions.functions()[f];
    const auto old = before.find(key_of(now, function));
    const FunctionSum was = old == before.end() ? FunctionSum{} : old->second;
    const FunctionSum& is = now.sums[f];
    const Range range = {is.self_range.low - was.self_range.low, is.self_range.high - was.self_range.high};
    const Row row = {now.functions.name_with_module(function), is.calls - std::min(is.calls, was.calls),
                     is.self - std::min(is.self, was.self),
                     is.self_waiting - std::min(is.self_waiting, was.self_waiting),
                     with_chance(range, is.self_variance)};
    if (row.calls || row.self || row.waiting) rows.push_back(row);
  }
  std::ranges::sort(rows, [](const Row& a, const Row& b) {
    if (a.self != b.self) return a.self > b.self;
    if (a.waiting != b.waiting) return a.waiting > b.waiting;
    return a.calls != b.calls ? a.calls > b.calls : a.name < b.name;
  });
  return rows;
}

struct Size {
  size_t rows, columns;
};

Size terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 4) return {24, 80};
  return {size.ws_row, size.ws_col};
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

void print_rows(const std::vector<Row>& rows, const Analysis& a, double seconds, size_t most, size_t columns,
                bool is_on, Output& out) {
  double self = 0, calls = 0;
  for (const Row& r : rows) self += double(r.self), calls += double(r.calls);
  char line[128];
  std::snprintf(line, sizeof line, "%.1f million calls a second, in %zu functions%s\n", calls / seconds / 1e6,
                rows.size(), is_on ? "" : "; recording is off");
  out.text(line);
  out.text(a.has_waiting ? "   %        Self  Waiting   Calls/s  Name\n" : "   %        Time   Calls/s  Name\n");
  const size_t name_column = a.has_waiting ? 40 : 32;  // the tab's
  for (size_t i = 0; i < std::min(rows.size(), most); ++i) {
    const Row& r = rows[i];
    const double whole = a.timed ? self : calls, part = a.timed ? double(r.self) : double(r.calls);
    const bool is_range = a.timed && is_shown_as_range(a, r.self, r.range, 1);
    const std::string share = (is_range ? "~" : "") + decimal(whole > 0 ? 100 * part / whole : 0, 1);
    const std::string time = a.timed ? shown_time(a, r.self, r.range, 1, false) : "-";
    std::snprintf(line, sizeof line, "%5s %11s", share.c_str(), time.c_str());
    out.text(line);
    if (a.has_waiting) {
      std::snprintf(line, sizeof line, " %8.3f", a.seconds(r.waiting));
      out.text(line);
    }
    std::snprintf(line, sizeof line, " %9.0f\t", double(r.calls) / seconds);
    out.text(line);
    out.text(prof_text::shortened(prof_text::printable(r.name), columns > name_column ? columns - name_column : 1));
    out.text("\n");
  }
}

}  // namespace

TopOptions parse_top_options(int argc, char** argv) {
  static const option kWords[] = {{"raw-names", no_argument, nullptr, 'n' + 256}, {nullptr, 0, nullptr, 0}};
  auto number = [](const char* letter, const char* text, auto& value) {
    const char* const end = text + std::char_traits<char>::length(text);
    const auto [at, error] = std::from_chars(text, end, value);
    if (error != std::errc() || at != end || !(value > 0))
      throw UsageError(std::string(letter) + " " + text + ": is no number greater than 0");
  };
  TopOptions o;
  opterr = 0;
  optind = 0;  // glibc: start anew
  for (int c; (c = getopt_long(argc, argv, "i:n:R", kWords, nullptr)) != -1;) switch (c) {
      case 'i':
        number("-i", optarg, o.interval);
        break;
      case 'n':
        number("-n", optarg, o.times);
        break;
      case 'R':
        o.raw_times = true;
        break;
      case 'n' + 256:
        o.raw_names = true;
        break;
      default:
        throw UsageError("top: no such option, or its argument is missing; see prof --help");
    }
  if (optind + 1 != argc)
    throw UsageError("top: name one process or profile; prof top [-R] [-i SECONDS] [-n TIMES] PID");
  o.subject = argv[optind];
  return o;
}

int top(const TopOptions& options) {
  const auto [path, remarks] = find_profile(options.subject);
  say_all(remarks);
  const bool terminal = isatty(STDOUT_FILENO);
  const Input input = {"", {path}, options.raw_names, options.raw_times, false};
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
    const Size size = terminal ? terminal_size() : Size{kRowsInFile + 3, SIZE_MAX};
    if (terminal)
      out.text("\x1b[H\x1b[J");
    else if (n > 0)
      out.text("\n");
    print_rows(rows_since(before, a), a, seconds, size.rows - 3, size.columns, profile.recording().is_on, out);
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
