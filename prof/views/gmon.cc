// gmon.out, for GNU gprof.
//
// The format has a histogram of program counters and a list of arcs (caller, callee, count). Exact times fit into
// it: one histogram of one bin for each function, two bytes wide (gprof's unit of code), at the function's entry, with
// a tick of a microsecond or whatever lets the longest time fit. Bins hold 16 bits and arcs 32; gprof adds up records
// for the same place, so greater numbers are split over several.
//
// What does not fit: contexts (gprof spreads a function's time over its callers by their share of the calls), and
// functions of other modules than the program, whose addresses gprof cannot name. The time of imports is given to the
// functions that call them.
//
// Addresses are those of the original program, as the linker gave them, so that `gprof ORIGINAL gmon.out` works.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "libprof/printable.h"
#include "prof/read/error.h"
#include "views.h"

namespace prof {

namespace {

constexpr uint64_t kMostTicksPerRecord = 65535;
constexpr uint64_t kMostCallsPerRecord = UINT32_MAX;
constexpr uint64_t kMostTicks = INT32_MAX;   // per bin: gprof adds them up in an int
constexpr uint64_t kMostSplits = 200'000;    // of great numbers, 10^15 calls; more come from damaged ones
constexpr uint64_t kEnoughRecords = 20'000;  // of histograms; more take gprof seconds to read
constexpr uint32_t kProgram = 0;             // index of the program among the objects

class GmonFile {
 public:
  explicit GmonFile(Output& out) : out_(out) {
    out_.text("gmon");
    number<uint32_t>(1);  // version
    out_.text(std::string(12, '\0'));
  }

  void histogram(uint64_t low, uint32_t rate, uint64_t ticks) {
    for (bool first = true; first || ticks > 0; first = false) {
      const uint64_t now = std::min(ticks, kMostTicksPerRecord);
      ticks -= now;
      begin_record(0, first);
      number<uint64_t>(low);
      number<uint64_t>(low + 2);
      number<uint32_t>(1);  // bins
      number<uint32_t>(rate);
      out_.text({"seconds\0\0\0\0\0\0\0\0s", 16});  // dimension, 15 bytes, and its abbreviation
      number<uint16_t>(uint16_t(now));
    }
  }

  void arc(uint64_t from, uint64_t to, uint64_t calls) {
    for (bool first = true; calls > 0; first = false) {
      const uint64_t now = std::min(calls, kMostCallsPerRecord);
      calls -= now;
      begin_record(1, first);
      number<uint64_t>(from);
      number<uint64_t>(to);
      number<uint32_t>(uint32_t(now));
    }
  }

 private:
  // `first`: the record is the first one for a number.
  void begin_record(char tag, bool first) {
    if (!first && ++splits_ > kMostSplits)
      throw Error(out_.name() + ": the numbers in the profile are too great for it");
    out_.byte(tag);
  }
  template <class T>
  void number(T n) {
    char bytes[sizeof n];  // little-endian
    for (size_t i = 0; i < sizeof n; ++i) bytes[i] = char(n >> (8 * i));
    out_.text({bytes, sizeof n});
  }

  Output& out_;
  uint64_t splits_ = 0;
};

// The caller that calls from outside the program get: main is called by _start, through libc. Without a caller gprof
// would not show the calls.
std::optional<uint64_t> start_address(const Analysis& analysis) {
  const Symbol* start = analysis.functions.program().symbols().find_name("_start");
  if (!start) return std::nullopt;
  return start->address;
}

// Whether gprof can name it: imports have no place among the program's functions.
bool is_shown(const Function& function) { return function.object == kProgram && !function.is_import; }

constexpr uint32_t kOutside = UINT32_MAX;

// For each node the nearest function that is shown among its ancestors and itself; kOutside if there is none. What the
// program imports and other code of libraries is left out: if main gives a comparison function to the sort of a library,
// gprof shows it as called by main.
std::vector<uint32_t> find_nearest(const Analysis& analysis) {
  const std::vector<CallNode>& nodes = analysis.tree.nodes;
  std::vector<uint32_t> nearest(nodes.size(), kOutside);
  for (size_t i = 1; i < nodes.size(); ++i) {
    const uint32_t function = nodes[i].function;
    nearest[i] = is_shown(analysis.functions.functions()[function]) ? function : nearest[nodes[i].parent];
  }
  return nearest;
}

// Self cycles by bin; an import's are its caller's. Two entries in one unit of two bytes cannot be told apart; gprof
// gives the sum to the later.
std::map<uint64_t, uint64_t> bins(const Analysis& analysis, const std::vector<uint32_t>& nearest) {
  std::map<uint64_t, uint64_t> cycles;
  const std::vector<Function>& functions = analysis.functions.functions();
  const auto give = [&](const Function& function, uint64_t self) {
    if (self != 0) cycles[function.address & ~uint64_t(1)] += self;
  };
  for (size_t f = 0; f < analysis.sums.size(); ++f)
    if (is_shown(functions[f])) give(functions[f], analysis.sums[f].self);
  const std::vector<CallNode>& nodes = analysis.tree.nodes;
  for (size_t i = 1; i < nodes.size(); ++i)
    if (functions[nodes[i].function].is_import && nearest[i] != kOutside) give(functions[nearest[i]], nodes[i].self);
  return cycles;
}

// Ticks per second: the finest power of ten for which the numbers fit.
uint32_t choose_rate(const Analysis& analysis, const std::map<uint64_t, uint64_t>& cycles) {
  double sum = 0, greatest = 0;
  for (const auto& [address, c] : cycles) {
    sum += analysis.seconds(c);
    greatest = std::max(greatest, analysis.seconds(c));
  }
  uint32_t rate = 1'000'000;
  while (rate > 100 &&
         (greatest * rate > double(kMostTicks) || sum * rate / kMostTicksPerRecord > double(kEnoughRecords))) {
    rate /= 10;
  }
  return rate;
}

void write_arcs(const Analysis& analysis, const std::vector<uint32_t>& nearest, GmonFile& gmon,
                uint64_t& calls_left_out) {
  const std::vector<CallNode>& nodes = analysis.tree.nodes;
  const std::vector<Function>& functions = analysis.functions.functions();
  const std::optional<uint64_t> start = start_address(analysis);
  struct Arc {
    uint64_t from, to, calls;
    bool operator<(const Arc& other) const { return from != other.from ? from < other.from : to < other.to; }
  };
  std::vector<Arc> arcs;
  for (size_t i = 1; i < nodes.size(); ++i) {
    const uint32_t caller = nearest[nodes[i].parent], callee = nodes[i].function;
    if (!is_shown(functions[callee])) continue;
    const uint64_t to = functions[callee].address;
    if (caller != kOutside) {
      arcs.push_back({functions[caller].address, to, nodes[i].calls});
    } else if (start && *start != to) {
      arcs.push_back({*start, to, nodes[i].calls});
    } else if (!start) {
      calls_left_out += nodes[i].calls;
    }
  }
  std::sort(arcs.begin(), arcs.end());
  for (size_t i = 0; i < arcs.size();) {
    Arc sum = arcs[i];
    while (++i < arcs.size() && arcs[i].from == sum.from && arcs[i].to == sum.to) sum.calls += arcs[i].calls;
    gmon.arc(sum.from, sum.to, sum.calls);
  }
}

}  // namespace

std::vector<std::string> write_gmon(const Analysis& analysis, const std::string& path) {
  uint64_t calls_left_out = 0;
  write_file(path, [&](Output& out) {
    GmonFile gmon(out);
    const std::vector<uint32_t> nearest = find_nearest(analysis);
    const std::map<uint64_t, uint64_t> cycles = bins(analysis, nearest);
    const uint32_t rate = choose_rate(analysis, cycles);
    for (const auto& [address, c] : cycles) {
      gmon.histogram(address, rate, uint64_t(std::llround(analysis.seconds(c) * rate)));
    }
    // Without any histogram gprof prints no flat profile, and its call graph is full of nan.
    if (cycles.empty()) {
      const std::vector<Function>& functions = analysis.functions.functions();
      const auto shown = std::ranges::find_if(functions, is_shown);
      gmon.histogram(shown == functions.end() ? 0 : shown->address & ~uint64_t(1), rate, 0);
    }
    write_arcs(analysis, nearest, gmon, calls_left_out);
  });

  std::vector<std::string> remarks;
  uint64_t self_left_out = 0, others = 0;
  for (size_t f = 0; f < analysis.sums.size(); ++f) {
    if (analysis.functions.functions()[f].object == kProgram) continue;
    if (analysis.sums[f].calls == 0 && analysis.sums[f].self == 0) continue;
    self_left_out += analysis.sums[f].self;
    ++others;
  }
  if (others) {
    char seconds[64];
    std::snprintf(seconds, sizeof seconds, "%.3f", analysis.seconds(self_left_out));
    remarks.push_back(path + ": leaves out " + std::to_string(others) + (others == 1 ? " function" : " functions") +
                      " outside the program, " + seconds + " s of self time");
  }
  if (calls_left_out) {
    remarks.push_back(path + ": leaves out " + std::to_string(calls_left_out) +
                      (calls_left_out == 1 ? " call" : " calls") +
                      " from outside the program: it has no symbol _start to stand for their caller");
  }
  return remarks;
}

void write_gprof_symbols(const Analysis& analysis, const std::string& path) {
  std::map<uint64_t, std::string> names;
  for (const Function& f : analysis.functions.functions()) {
    if (is_shown(f)) names[f.address] = f.raw_name;  // gprof demangles
  }
  if (std::optional<uint64_t> start = start_address(analysis)) names.try_emplace(*start, "_start");
  // For gprof a symbol ends where the next one begins. It would lose the time of the last one, so that gets an end.
  if (!names.empty()) names.try_emplace(names.rbegin()->first + 16, "_end_of_functions");
  write_file(path, [&](Output& out) {
    for (const auto& [address, name] : names) {
      char digits[20];
      out.text({digits, size_t(std::to_chars(digits, digits + sizeof digits, address, 16).ptr - digits)});
      out.text(" T ");
      // gprof reads words of less than 1024 bytes.
      std::string word = prof_text::shortened(prof_text::printable(name), 1000);
      std::replace(word.begin(), word.end(), ' ', '_');
      out.text(word + "\n");
    }
  });
}

}  // namespace prof
