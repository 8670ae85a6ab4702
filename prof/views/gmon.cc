// gmon.out, for GNU gprof.
//
// The format has a histogram of program counters and a list of arcs (caller, callee, count). Exact times fit into
// it: one histogram of one bin for each function, two bytes wide (gprof's unit of code), at the function's entry, with
// a tick of a microsecond or whatever lets the longest time fit. Bins hold 16 bits and arcs 32; gprof adds up records
// for the same place, so greater numbers are split over several.
//
// What does not fit: contexts (gprof spreads a function's time over its callers by their share of the calls), and
// functions of several files, since gprof knows the addresses of one. So the program and each of its libraries have a
// file of their own, and a call from one to another is none in either: its caller is outside. The time of imports is
// given to the functions that call them.
//
// Addresses are those of the original file, as the linker gave them, so that `gprof ORIGINAL gmon.out` works.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
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
constexpr uint32_t kOutside = UINT32_MAX;    // in the place of a function's index

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

// A program or a library of an analysis, as gprof can show it.
class Shown {
 public:
  Shown(const Analysis& analysis, uint32_t object) : analysis_(analysis), object_(object) {
    const std::vector<CallNode>& nodes = analysis.tree.nodes;
    nearest_.assign(nodes.size(), kOutside);
    for (size_t i = 1; i < nodes.size(); ++i)
      nearest_[i] = has(function_of(nodes[i])) ? nodes[i].function : nearest_[nodes[i].parent];
  }

  bool has(const Function& function) const { return function.object == object_; }

  // The nearest of its functions among the ancestors of a node and itself; kOutside if there is none. Other code is left
  // out: if main gives a comparison function to the sort of a library, gprof shows it as called by main.
  uint32_t nearest(size_t node) const { return nearest_[node]; }

  // An address to call from in the place of what is outside. Without a caller gprof would not show the calls. The
  // program's main is called by _start, through libc. Of a library it is one that no function has: that of _init, which
  // gprof knows if it knows any names, or in front of all others.
  std::optional<uint64_t> outside() const {
    const SymbolTable& symbols = analysis_.functions.objects()[object_].symbols();
    if (const Symbol* start = symbols.find_name(object_ == kProgram ? "_start" : "_init")) return start->address;
    if (object_ == kProgram) return std::nullopt;
    uint64_t first = UINT64_MAX;
    for (const Function& f : analysis_.functions.functions())
      if (has(f)) first = std::min(first, f.address);
    return first < 16 ? std::nullopt : std::optional(first - 16);
  }
  const char* name_of_outside() const { return object_ == kProgram ? "_start" : "<spontaneous>"; }

  // Self cycles by bin; an import's are its caller's. Two entries in one unit of two bytes cannot be told apart; gprof
  // gives the sum to the later.
  std::map<uint64_t, uint64_t> bins() const {
    std::map<uint64_t, uint64_t> cycles;
    const std::vector<Function>& functions = analysis_.functions.functions();
    const auto give = [&](const Function& function, uint64_t self) {
      if (self != 0) cycles[function.address & ~uint64_t(1)] += self;
    };
    for (size_t f = 0; f < analysis_.sums.size(); ++f)
      if (has(functions[f])) give(functions[f], analysis_.sums[f].self);
    const std::vector<CallNode>& nodes = analysis_.tree.nodes;
    for (size_t i = 1; i < nodes.size(); ++i) {
      if (!function_of(nodes[i]).is_import) continue;
      uint32_t caller = nodes[i].parent;
      while (caller != 0 && function_of(nodes[caller]).is_import) caller = nodes[caller].parent;
      if (caller != 0 && has(function_of(nodes[caller]))) give(function_of(nodes[caller]), nodes[i].self);
    }
    return cycles;
  }

 private:
  const Function& function_of(const CallNode& node) const { return analysis_.functions.functions()[node.function]; }

  const Analysis& analysis_;
  uint32_t object_;
  std::vector<uint32_t> nearest_;  // by node
};

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

// Returns how many calls are left out.
uint64_t write_arcs(const Analysis& analysis, const Shown& shown, GmonFile& gmon) {
  const std::vector<CallNode>& nodes = analysis.tree.nodes;
  const std::vector<Function>& functions = analysis.functions.functions();
  const std::optional<uint64_t> outside = shown.outside();
  uint64_t left_out = 0;
  struct Arc {
    uint64_t from, to, calls;
    bool operator<(const Arc& other) const { return from != other.from ? from < other.from : to < other.to; }
  };
  std::vector<Arc> arcs;
  for (size_t i = 1; i < nodes.size(); ++i) {
    const uint32_t caller = shown.nearest(nodes[i].parent), callee = nodes[i].function;
    if (!shown.has(functions[callee])) continue;
    const uint64_t to = functions[callee].address;
    if (caller != kOutside) {
      arcs.push_back({functions[caller].address, to, nodes[i].calls});
    } else if (outside && *outside != to) {
      arcs.push_back({*outside, to, nodes[i].calls});
    } else if (!outside) {
      left_out += nodes[i].calls;
    }
  }
  std::sort(arcs.begin(), arcs.end());
  for (size_t i = 0; i < arcs.size();) {
    Arc sum = arcs[i];
    while (++i < arcs.size() && arcs[i].from == sum.from && arcs[i].to == sum.to) sum.calls += arcs[i].calls;
    gmon.arc(sum.from, sum.to, sum.calls);
  }
  return left_out;
}

// Returns how many calls are left out.
uint64_t write_object(const Analysis& analysis, uint32_t object, const std::string& path) {
  uint64_t left_out = 0;
  write_file(path, [&](Output& out) {
    GmonFile gmon(out);
    const Shown shown(analysis, object);
    const std::map<uint64_t, uint64_t> cycles = shown.bins();
    const uint32_t rate = choose_rate(analysis, cycles);
    for (const auto& [address, c] : cycles) {
      gmon.histogram(address, rate, uint64_t(std::llround(analysis.seconds(c) * rate)));
    }
    // Without any histogram gprof prints no flat profile, and its call graph is full of nan.
    if (cycles.empty()) {
      const std::vector<Function>& functions = analysis.functions.functions();
      const auto first = std::ranges::find_if(functions, [&](const Function& f) { return shown.has(f); });
      gmon.histogram(first == functions.end() ? 0 : first->address & ~uint64_t(1), rate, 0);
    }
    left_out = write_arcs(analysis, shown, gmon);
  });
  return left_out;
}

// The files of the program and of those of its libraries that did anything, by object: `path', `path'.SONAME. A device
// has no files beside it.
std::map<uint32_t, std::string> files_at(const Analysis& analysis, const std::string& path) {
  std::map<uint32_t, std::string> files = {{kProgram, path}};
  std::error_code e;
  if (std::filesystem::exists(path, e) && !std::filesystem::is_regular_file(path, e)) return files;
  std::set<std::string> taken;
  for (uint32_t f = 0; f < analysis.sums.size(); ++f) {
    const Function& function = analysis.functions.functions()[f];
    const Object& object = analysis.functions.objects()[function.object];
    if (object.kind() != Object::Kind::library || object.is_missing() || !occurs(analysis, f) ||
        files.contains(function.object))
      continue;
    std::string name = path + "." + object.name();
    std::replace(name.begin() + long(path.size()), name.end(), '/', '_');
    for (unsigned n = 2; !taken.insert(name).second; ++n) name += "." + std::to_string(n);
    files[function.object] = name;
  }
  return files;
}

}  // namespace

std::vector<std::string> write_gmon(const Analysis& analysis, const std::string& path) {
  const std::map<uint32_t, std::string> files = files_at(analysis, path);
  std::string names;
  uint64_t calls_left_out = 0;
  for (const auto& [object, file] : files) {
    calls_left_out += write_object(analysis, object, file);
    if (object != kProgram) names += (names.empty() ? "" : ", ") + prof_text::printable(file);
  }

  std::vector<std::string> remarks;
  if (!names.empty()) remarks.push_back(path + ": is of the program; of libraries are " + names);
  uint64_t self_left_out = 0, others = 0;
  for (size_t f = 0; f < analysis.sums.size(); ++f) {
    const Function& function = analysis.functions.functions()[f];
    if (files.contains(function.object) || function.is_import) continue;
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

namespace {

void write_names(const Analysis& analysis, uint32_t object, const std::string& path) {
  const Shown shown(analysis, object);
  std::map<uint64_t, std::string> names;
  for (const Function& f : analysis.functions.functions()) {
    if (shown.has(f)) names[f.address] = f.raw_name;  // gprof demangles
  }
  if (std::optional<uint64_t> outside = shown.outside()) names.try_emplace(*outside, shown.name_of_outside());
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

}  // namespace

void write_gprof_symbols(const Analysis& analysis, const std::string& path) {
  for (const auto& [object, file] : files_at(analysis, path)) write_names(analysis, object, file);
}

}  // namespace prof
