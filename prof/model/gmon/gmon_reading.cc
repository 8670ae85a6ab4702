#include "gmon_reading.h"

#include <elf.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <vector>

#include "gmon_graph.h"
#include "gmon_of.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/model/program/functions.h"
#include "prof/model/tree/sampled.h"
#include "prof/read/cycles.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "prof/read/gmon_file.h"

namespace prof {

namespace {

// Which function of a program or a library is at an address of its original file.

// Where functions, and parts of functions, begin. Each goes on up to where the next begins.
class CodePlaces {
 public:
  // Of an object of the table, which grows by the functions that are found. It must outlive this.
  CodePlaces(FunctionTable& functions, uint32_t object);

  // Index of the function in the table; none if the address is in front of all, or no code.
  std::optional<uint32_t> function_at(uint64_t address) const;

  // The next address after this one, in units of so many bytes, at which a function begins; UINT64_MAX if there is
  // none.
  uint64_t next_start(uint64_t unit_number, uint64_t unit) const;

 private:
  bool is_code(uint64_t address) const;

  FunctionTable& functions_;
  uint32_t object_;
  std::vector<uint64_t> starts_;
};

CodePlaces::CodePlaces(FunctionTable& functions, uint32_t object) : functions_(functions), object_(object) {
  for (const ElfFile& file : functions.objects()[object].files()) {
    for (const Symbol& symbol : file.symbols())
      if (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) starts_.push_back(symbol.address);
    const std::vector<uint64_t> unwind_starts = file.unwind_starts();
    starts_.insert(starts_.end(), unwind_starts.begin(), unwind_starts.end());
  }
  std::ranges::sort(starts_);
  starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
}

bool CodePlaces::is_code(uint64_t address) const {
  const Object& object = functions_.objects()[object_];
  return object.symbols().find(address) || (!object.files().empty() && object.files()[0].offset_of(address));
}

std::optional<uint32_t> CodePlaces::function_at(uint64_t address) const {
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), address);
  if (next == starts_.begin() || !is_code(address)) return {};
  const uint64_t start = *std::prev(next);
  const uint64_t entry = functions_.objects()[object_].entry_of_original(start).value_or(start);
  return functions_.at(object_, entry);
}

uint64_t CodePlaces::next_start(uint64_t unit_number, uint64_t unit) const {
  if (unit_number >= UINT64_MAX / unit) return UINT64_MAX;
  const auto next = std::lower_bound(starts_.begin(), starts_.end(), (unit_number + 1) * unit);
  return next == starts_.end() ? UINT64_MAX : *next / unit;
}

constexpr uint64_t kUnit = 2;    // bytes of code that gprof counts as one
constexpr double kSecond = 1e9;  // nanoseconds, which stand for cycles
constexpr uint32_t kFastestClock =
    10'000;  // ticks per second; more were no samples, but times that were written as such
constexpr size_t kMaxContexts = 20'000;

// What one object did, with functions as the table has them.
class Reading {
 public:
  Reading(FunctionTable& functions, uint32_t object, std::vector<GmonTime>& self)
      : functions_(functions), object_(object), places_(functions, object), self_(self) {}

  void add(const Gmon& gmon) {
    for (const GmonHistogram& h : gmon.histograms)
      for (size_t i = 0; i < h.bins.size(); ++i)
        if (h.bins[i] != 0) add_bin(h, i);
  }

  // Ticks that were found at no code of the object, and all.
  double ticks_elsewhere() const { return ticks_elsewhere_; }
  double ticks() const { return ticks_; }

  std::optional<uint32_t> function_at(uint64_t address) const { return places_.function_at(address); }

 private:
  // In units, as gprof rounds it.
  static uint64_t start_of_bin(const GmonHistogram& h, size_t bin) {
    const uint64_t units = (h.high - h.low) / kUnit;
    return h.low / kUnit + uint64_t(static_cast<long double>(units) * static_cast<long double>(bin) /
                                    static_cast<long double>(h.bins.size()));
  }

  void add_bin(const GmonHistogram& h, size_t bin) {
    const uint64_t start = start_of_bin(h, bin), end = std::max(start_of_bin(h, bin + 1), start + 1);
    const double all = double(h.bins[bin]);
    ticks_ += all;
    for (uint64_t at = start; at < end;) {
      const uint64_t next = std::min(places_.next_start(at, kUnit), end);
      add_ticks(at, all * double(next - at) / double(end - start), kSecond / h.rate);
      at = next;
    }
  }

  void add_ticks(uint64_t unit, double ticks, double tick) {
    // Of two functions that begin in one unit the later has all of it.
    std::optional<uint32_t> function = places_.function_at(unit * kUnit + kUnit - 1);
    if (!function) {
      ticks_elsewhere_ += ticks;
      function = functions_.unknown_function(object_);
    }
    if (*function >= self_.size()) self_.resize(*function + 1);
    self_[*function].add({ticks * tick, ticks * tick * tick});
  }

  FunctionTable& functions_;
  uint32_t object_;
  CodePlaces places_;
  std::vector<GmonTime>& self_;  // by function
  double ticks_elsewhere_ = 0, ticks_ = 0;
};

// A call from one function to another; from outside if `from` is none.
struct Call {
  std::optional<uint32_t> from;
  uint32_t to = 0;
  uint64_t calls = 0;
};

class GmonReader {
 public:
  GmonReader(Recorded& recorded, const GmonFiles& input, std::vector<std::string>& remarks)
      : a_(recorded), input_(input), remarks_(remarks) {}

  // Returns how many contexts were folded.
  uint64_t read() {
    std::map<uint32_t, Gmon> files;  // by object
    for (const std::string& path : input_.paths) {
      if (!is_gmon_file(path)) throw Error(path + ": is not a gmon.out, and cannot be added to one; leave it out");
      add_gmon(files[object_of(path)], read_gmon(path), path);
    }
    for (const auto& [object, gmon] : files) add_object(object, gmon);
    for (std::string& remark : a_.functions.take_remarks()) remarks_.push_back(std::move(remark));
    finish();
    return folded_;
  }

 private:
  uint32_t object_of(const std::string& path) {
    const auto library = input_.libraries.find(path);
    if (library == input_.libraries.end()) return 0;
    Module module;
    module.path = library->second;
    return a_.functions.library(module);
  }

  void add_object(uint32_t object, const Gmon& gmon) {
    const std::string path = object == 0 ? a_.program : a_.functions.objects()[object].path();
    Reading reading(a_.functions, object, self_);
    reading.add(gmon);
    uint64_t found = 0, not_found = 0;
    // What prof -g writes has calls from outside as calls from _start; of a library, from where there is no function.
    const std::optional<uint64_t> start = outside_of_object(a_, object);
    for (const GmonArc& arc : gmon.arcs) {
      const std::optional<uint32_t> to = reading.function_at(arc.to);
      ++(to ? found : not_found);
      if (!to || arc.calls == 0) continue;
      calls_.push_back({arc.from == start ? std::nullopt : reading.function_at(arc.from), *to, arc.calls});
    }
    add_blocks(object, gmon);
    if (found == 0 && reading.ticks_elsewhere() >= reading.ticks() && not_found + uint64_t(reading.ticks()) > 0)
      throw Error(input_.paths[0] + ": is not of " + path +
                  ": none of its addresses are of code there; name the program that wrote it");
    check_units(gmon);
    if (!input_.has_remarks) return;
    if (not_found > 0)
      remarks_.push_back(prof_text::count_of(not_found, "arc") + " left out, to addresses that are no code of " + path);
    if (reading.ticks_elsewhere() >= 1) {
      remarks_.push_back(prof_text::count_of(uint64_t(reading.ticks_elsewhere()), "tick") +
                         " at addresses that are no code of " + path + ", shown as [unknown]");
    }
  }

  void add_blocks(uint32_t object, const Gmon& gmon) {
    std::map<uint64_t, uint64_t> counts;
    for (const GmonBlock& block : gmon.blocks) add_up(counts[block.address], block.count);
    for (const auto& [address, count] : counts) a_.blocks.push_back({object, address, 0, count});
  }

  void check_units(const Gmon& gmon) {
    for (const GmonHistogram& h : gmon.histograms) {
      has_ticks_ = has_ticks_ || std::ranges::any_of(h.bins, [](uint64_t ticks) { return ticks != 0; });
      slowest_ = std::min(slowest_, h.rate);
      if (h.dimension != "seconds") dimension_ = h.dimension;
    }
  }

  void finish() {
    const size_t functions = a_.functions.functions().size();
    self_.resize(functions);
    GmonGraph graph(functions);
    for (uint32_t f = 0; f < functions; ++f) graph.add_self(f, self_[f]);
    for (const Call& call : calls_) {
      if (call.from) {
        graph.add_calls(*call.from, call.to, call.calls);
      } else {
        graph.add_calls_from_outside(call.to, call.calls);
      }
    }
    graph.finish();
    a_.type = !has_ticks_                 ? FigureType::gmon_counts
              : slowest_ <= kFastestClock ? FigureType::gmon
                                          : FigureType::gmon_clock;
    a_.sample_period = a_.by_samples() ? uint64_t(kSecond) / slowest_ : 0;
    UnfoldedTree unfolded = unfold(graph, kMaxContexts);
    a_.tree = std::move(unfolded.tree);
    folded_ = unfolded.folded;
    for (uint32_t f = 0; f < functions; ++f) add_sum(f, graph.functions()[f]);
    if (!a_.by_samples()) forget_variances();
    if (a_.by_samples()) make_zeros_uncertain(a_.sums, a_.cycles_of_sample());
    if (input_.has_remarks) remark();
  }

  static uint64_t whole(double nanoseconds) { return uint64_t(std::min(nanoseconds + 0.5, 0x1p62)); }

  void add_sum(uint32_t f, const GmonGraph::Function& function) {
    FunctionSum& sum = a_.sums.emplace_back();
    sum.calls = function.calls;
    sum.has_doubtful_calls = !is_possible_count(function.calls);
    sum.self = whole(function.self.time);
    sum.total = whole(function.total.time);
    sum.self_range = {double(sum.self), double(sum.self)};
    sum.total_range = {double(sum.total), double(sum.total)};
    sum.self_variance = function.self.variance;
    sum.total_variance = function.total.variance;
    if (function.calls == 0) a_.functions.set_uncounted(f);
  }

  // Of times that were exact before they were made ticks.
  void forget_variances() {
    for (CallNode& node : a_.tree.nodes) node.self_variance = node.total_variance = 0;
    for (FunctionSum& sum : a_.sums) sum.self_variance = sum.total_variance = 0;
  }

  void remark() {
    const std::string& name = input_.paths[0];
    remarks_.push_back(name +
                       ": has no contexts, so Total and the tree are estimates: a function's time is divided among its "
                       "callers by their calls, as gprof does");
    if (!dimension_.empty())
      remarks_.push_back(name + ": it counts " + dimension_ + " instead of time; where seconds are shown, read " +
                         dimension_);
    if (folded_ > 0)
      remarks_.push_back(name + ": there are too many contexts; what is beyond " + std::to_string(kMaxContexts) +
                         " of them is at the outermost level of the tree");
  }

  Recorded& a_;
  const GmonFiles& input_;
  std::vector<std::string>& remarks_;
  uint64_t folded_ = 0;
  std::vector<GmonTime> self_;  // by function
  std::vector<Call> calls_;
  bool has_ticks_ = false;
  uint32_t slowest_ = UINT32_MAX;  // rate
  std::string dimension_;          // if it is not seconds
};

}  // namespace

uint64_t read_gmons(const GmonFiles& files, Recorded& recorded, std::vector<std::string>& remarks) {
  recorded.tsc_hz = kSecond;
  recorded.run_times.processor = {};
  recorded.run_times.preempted = {};
  return GmonReader(recorded, files, remarks).read();
}

}  // namespace prof
