#include "gmon_of.h"

#include <elf.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "linker-rewrite/text/numbers.h"
#include "prof/model/program/object_debug_info.h"

namespace prof {

namespace {

constexpr uint64_t kBin = 2;
constexpr uint64_t kMax = 1 << 20;    // bytes of code in a histogram, whatever gprof -c says
constexpr uint64_t kAfter = 1 << 12;  // the same, outside of all functions
constexpr uint64_t kMaxOfAll =
    1 << 28;  // of all histograms; beyond that they are as small as can be: damaged profiles have
              // addresses anywhere

constexpr uint64_t rounded_up(uint64_t address) { return (address + kBin - 1) / kBin * kBin; }

struct Bins {
  uint64_t low, high;
};

// The range between borders that an address is in.
Bins range_around(uint64_t address, const std::vector<uint64_t>& borders) {
  const auto next = std::upper_bound(borders.begin(), borders.end(), address);
  const bool is_inside = next != borders.begin() && next != borders.end();
  const uint64_t start = next == borders.begin() ? 0 : *std::prev(next);
  const uint64_t size = is_inside ? kMax : kAfter;
  const uint64_t low = start + (address - start) / size * size;
  const uint64_t end = next == borders.end() ? UINT64_MAX : *next;
  return {low, end - low < size ? end : low + size};
}

}  // namespace

std::vector<uint64_t> histogram_borders(const Object& object) {
  std::set<uint64_t> borders;
  uint64_t end = 0;
  const auto add = [&](uint64_t address, uint64_t size) {
    end = std::max(end, rounded_up(address + size));
    // An odd one shares its first bin with the function before it.
    if (address % kBin == 0) borders.insert(address);
  };
  for (const ElfFile& file : object.files())
    for (const Symbol& symbol : file.symbols())
      if (symbol.type == STT_FUNC && symbol.binding == STB_GLOBAL && object.entry_of(symbol.address) == symbol.address)
        add(symbol.address, symbol.size);
  // Without symbols gprof has the names that prof gives it.
  if (object.lacks_symbols())
    for (const prof_format::MapEntry& copy : object.copies())
      if (copy.original == copy.function) add(copy.original, copy.original_size);
  if (end != 0) borders.insert(end);
  return {borders.begin(), borders.end()};
}

std::vector<GmonHistogram> histograms_at(const std::map<uint64_t, uint64_t>& ticks,
                                         const std::vector<uint64_t>& borders, uint32_t rate) {
  std::vector<GmonHistogram> histograms;
  uint64_t all = 0;
  for (const auto& [address, count] : ticks) {
    if (address >= UINT64_MAX - 2 * kMax) continue;
    if (histograms.empty() || address >= histograms.back().high) {
      Bins range = range_around(address, borders);
      if (all > kMaxOfAll) range = {address, address + kBin};
      all += range.high - range.low;
      GmonHistogram& fresh = histograms.emplace_back();
      fresh.low = range.low;
      fresh.high = range.high;
      fresh.rate = rate;
      fresh.bins.resize((range.high - range.low) / kBin);
    }
    GmonHistogram& histogram = histograms.back();
    histogram.bins[(address - histogram.low) / kBin] += count;
  }
  return histograms;
}

namespace {

constexpr uint64_t kMaxTicks = UINT16_MAX;   // that a record of a file has room for; more are several records
constexpr uint64_t kEnoughRecords = 20'000;  // of histograms; more take gprof seconds to read
constexpr uint64_t kEnoughBytes = 16'000'000;
constexpr uint32_t kMinRate = 100;         // ticks per second
constexpr uint32_t kProgram = 0;           // index of the program among the objects
constexpr uint32_t kOutside = UINT32_MAX;  // in the place of a function's index
constexpr uint64_t kNowhere = UINT64_MAX;  // in the place of the address that stands for what is outside

// A program or a library of what was recorded, as gprof can show it.
class Shown {
 public:
  Shown(const Recorded& recorded, uint32_t object) : recorded_(recorded), object_(object) {
    const std::vector<CallNode>& nodes = recorded.tree.nodes;
    nearest_.assign(nodes.size(), kOutside);
    for (size_t i = 1; i < nodes.size(); ++i)
      nearest_[i] = has(function_of(nodes[i])) ? nodes[i].function : nearest_[nodes[i].parent];
  }

  bool has(const Function& function) const { return function.object == object_; }

  // The nearest of its functions among the ancestors of a node and itself; kOutside if there is none. Other code is
  // left out: if main gives a comparison function to the sort of a library, gprof shows it as called by main.
  uint32_t nearest(size_t node) const { return nearest_[node]; }

  // Self cycles by bin; an import's are its caller's. Two entries in one unit of two bytes cannot be told apart; gprof
  // gives the sum to the later.
  std::map<uint64_t, uint64_t> bins() const {
    std::map<uint64_t, uint64_t> cycles;
    const std::vector<Function>& functions = recorded_.functions.functions();
    const auto give = [&](const Function& function, uint64_t self) {
      if (self != 0) cycles[function.address & ~uint64_t(1)] += self;
    };
    for (size_t f = 0; f < recorded_.sums.size(); ++f)
      if (has(functions[f])) give(functions[f], recorded_.sums[f].self);
    const std::vector<CallNode>& nodes = recorded_.tree.nodes;
    for (size_t i = 1; i < nodes.size(); ++i) {
      if (!function_of(nodes[i]).is_import) continue;
      uint32_t caller = nodes[i].parent;
      while (caller != 0 && function_of(nodes[caller]).is_import) caller = nodes[caller].parent;
      if (caller != 0 && has(function_of(nodes[caller]))) give(function_of(nodes[caller]), nodes[i].self);
    }
    return cycles;
  }

 private:
  const Function& function_of(const CallNode& node) const { return recorded_.functions.functions()[node.function]; }

  const Recorded& recorded_;
  uint32_t object_;
  std::vector<uint32_t> nearest_;  // by node
};

// Ticks per second: the finest power of ten for which the numbers fit.
uint32_t choose_rate(const Recorded& recorded, const std::map<uint64_t, uint64_t>& cycles) {
  double sum = 0, greatest = 0;
  for (const auto& [address, c] : cycles) {
    sum += recorded.seconds(c);
    greatest = std::max(greatest, recorded.seconds(c));
  }
  constexpr double kMaxInGprof = INT32_MAX;  // per bin: gprof adds them up in an int
  uint32_t rate = 1'000'000;
  while (rate > kMinRate && (greatest * rate > kMaxInGprof || sum * rate / kMaxTicks > double(kEnoughRecords)))
    rate /= 10;
  return rate;
}

// What they take in a file.
uint64_t bytes_of(const std::vector<GmonHistogram>& histograms) {
  uint64_t bytes = 0;
  for (const GmonHistogram& h : histograms) {
    const uint64_t most = h.bins.empty() ? 0 : *std::ranges::max_element(h.bins);
    bytes += (most / kMaxTicks + 1) * h.bins.size() * sizeof(uint16_t);
  }
  return bytes;
}

// Of samples by address.
std::vector<GmonHistogram> sampled_histograms(const Recorded& recorded, uint32_t object) {
  const uint64_t period = recorded.sampled ? recorded.sampled->period : recorded.sample_period;
  const uint32_t rate =
      uint32_t(std::clamp(std::llround(1e9 / double(std::max<uint64_t>(period, 1))), 1LL, 1'000'000'000LL));
  std::map<uint64_t, uint64_t> samples;
  for (const AddressSamples& at : recorded.histogram)
    if (at.object == object) samples[at.address & ~uint64_t(1)] += at.samples;
  return histograms_at(samples, histogram_borders(recorded.functions.objects()[object]), rate);
}

std::vector<GmonHistogram> histograms_of(const Recorded& recorded, const Shown& shown, uint32_t object) {
  std::map<uint64_t, uint64_t> cycles = shown.bins();
  uint32_t rate = choose_rate(recorded, cycles);
  // Without any histogram gprof prints no flat profile, and its call graph is full of nan.
  if (cycles.empty()) {
    const std::vector<Function>& functions = recorded.functions.functions();
    const auto first = std::ranges::find_if(functions, [&](const Function& f) { return shown.has(f); });
    cycles[first == functions.end() ? 0 : first->address & ~uint64_t(1)] = 0;
  }
  const std::vector<uint64_t> borders = histogram_borders(recorded.functions.objects()[object]);
  for (;; rate /= 10) {
    std::map<uint64_t, uint64_t> ticks;
    for (const auto& [address, c] : cycles) ticks[address] = uint64_t(std::llround(recorded.seconds(c) * rate));
    std::vector<GmonHistogram> histograms = histograms_at(ticks, borders, rate);
    if (rate <= kMinRate || bytes_of(histograms) <= kEnoughBytes) return histograms;
  }
}

// Of a call: its caller and the function called, to be compared at once.
uint64_t ends_of(uint32_t caller, uint32_t callee) { return uint64_t(caller) << 32 | callee; }
uint64_t ends_of(const CallSite& site) { return ends_of(site.caller, site.callee); }

// The instructions by which functions call others.
class Sites {
 public:
  Sites(const Recorded& recorded, uint32_t object, const std::vector<CallSite>& sites)
      : recorded_(recorded), object_(object), sites_(sites), next_(sites.begin()) {}

  // Without hooks all calls are counted, and by whom only those that are not through pointers: the others are taken to
  // come from outside. Puts arcs from the instructions that called in the place of arcs from there.
  void take_from(uint64_t outside, std::vector<GmonArc>& arcs) const {
    const std::vector<Function>& functions = recorded_.functions.functions();
    std::map<uint64_t, uint64_t> known;  // calls, by function called
    const size_t count = arcs.size();
    for (const CallSite& site : sites_) {
      if (functions[site.callee].object != object_) continue;
      const uint64_t from = is_known_to_gprof(site) ? site.address : functions[site.caller].address;
      arcs.push_back({from, functions[site.callee].address, site.calls});
      add_up(known[functions[site.callee].address], site.calls);
    }
    for (size_t i = 0; i < count; ++i)
      if (arcs[i].from == outside) arcs[i].calls -= std::min(arcs[i].calls, known[arcs[i].to]);
  }

  // Of those left, samples tell the callers of such functions as were found running, or calling what ran: the contexts
  // have shares of the calls through pointers (sampled_contexts.h), and of those that are counted as well if their
  // caller made any.
  void take_sampled_from(uint64_t outside, const Shown& shown, std::vector<GmonArc>& arcs) const {
    const std::vector<Function>& functions = recorded_.functions.functions();
    const std::vector<CallNode>& nodes = recorded_.tree.nodes;
    std::map<uint64_t, uint64_t> counted;
    for (const CallSite& site : sites_) add_up(counted[ends_of(site)], site.calls);
    std::map<uint64_t, GmonArc> found;  // by ends
    for (size_t i = 1; i < nodes.size(); ++i) {
      const CallNode& node = nodes[i];
      const uint32_t caller = shown.nearest(node.parent);
      if (caller == kOutside || !shown.has(functions[node.function])) continue;
      GmonArc& arc = found[ends_of(caller, node.function)];
      arc.from = functions[caller].address;
      arc.to = functions[node.function].address;
      uint64_t calls = node.calls;
      if (nodes[node.parent].function == caller) {
        uint64_t& known = counted[ends_of(caller, node.function)];
        calls -= std::min(calls, known);
        known -= node.calls - calls;
      }
      add_up(arc.calls, calls);
      arc.is_estimate |= calls != 0 && node.has_estimated_calls;
    }
    std::map<uint64_t, size_t> left;  // by function called, the index of the arc from outside
    for (size_t i = 0; i < arcs.size(); ++i)
      if (arcs[i].from == outside) left[arcs[i].to] = i;
    for (auto& [ends, arc] : found) {
      const auto at = left.find(arc.to);
      if (at == left.end()) continue;
      arc.calls = std::min(arc.calls, arcs[at->second].calls);
      arcs[at->second].calls -= arc.calls;
      arcs.push_back(arc);
    }
  }

  // Adds arcs for all calls of one function by another. Callers come in order, and functions called by each in order.
  void add(uint32_t caller, uint32_t callee, uint64_t calls, std::vector<GmonArc>& arcs) {
    const std::vector<Function>& functions = recorded_.functions.functions();
    const uint64_t from = functions[caller].address, to = functions[callee].address;
    while (next_ != sites_.end() && ends_of(*next_) < ends_of(caller, callee)) ++next_;
    for (; next_ != sites_.end() && ends_of(*next_) == ends_of(caller, callee); ++next_) {
      const uint64_t here = std::min(calls, next_->calls);
      arcs.push_back({next_->is_instruction && is_known_to_gprof(*next_) ? next_->address : from, to, here});
      calls -= here;
    }
    if (calls != 0) arcs.push_back({from, to, calls});
  }

 private:
  // A fragment, foo.cold, lies in what gprof takes for another function.
  bool is_known_to_gprof(const CallSite& site) const {
    const Function& caller = recorded_.functions.functions()[site.caller];
    const Symbol* symbol = recorded_.functions.objects()[caller.object].symbols().find(site.address);
    return symbol && symbol->address == caller.address;
  }

  const Recorded& recorded_;
  const uint32_t object_;
  const std::vector<CallSite>& sites_;  // by caller and function called
  std::vector<CallSite>::const_iterator next_;
};

// `left_out` is set to how many calls are left out.
std::vector<GmonArc> arcs_of(const Recorded& recorded, const Shown& shown, uint64_t outside, Sites sites,
                             uint64_t& left_out) {
  const std::vector<CallNode>& nodes = recorded.tree.nodes;
  const std::vector<Function>& functions = recorded.functions.functions();
  left_out = 0;
  std::vector<GmonArc> arcs;
  struct Calls {
    uint32_t caller, callee;
    uint64_t number;
    uint64_t ends() const { return ends_of(caller, callee); }
  };
  std::vector<Calls> own;  // the caller's, not through others
  own.reserve(nodes.size());
  auto add_from_outside = [&](uint64_t to, uint64_t calls) {
    if (outside != to) arcs.push_back({outside, to, calls});
  };
  if (!recorded.has_hooks())
    for (size_t f = 0; f < functions.size(); ++f)
      if (shown.has(functions[f])) add_from_outside(functions[f].address, recorded.sums[f].calls);
  for (size_t i = 1; i < nodes.size() && recorded.has_hooks(); ++i) {
    const uint32_t caller = shown.nearest(nodes[i].parent), callee = nodes[i].function;
    if (!shown.has(functions[callee])) continue;
    const uint64_t to = functions[callee].address;
    if (caller == kOutside) {
      add_from_outside(to, nodes[i].calls);
    } else if (nodes[nodes[i].parent].function == caller) {
      own.push_back({caller, callee, nodes[i].calls});
    } else {
      arcs.push_back({functions[caller].address, to, nodes[i].calls});
    }
  }
  std::ranges::sort(own, {}, &Calls::ends);
  arcs.reserve(arcs.size() + own.size());
  for (auto same = own.begin(); same != own.end();) {
    uint64_t calls = 0;
    auto end = same;
    for (; end != own.end() && end->ends() == same->ends(); ++end) add_up(calls, end->number);
    sites.add(same->caller, same->callee, calls, arcs);
    same = end;
  }
  if (!recorded.has_hooks()) {
    sites.take_from(outside, arcs);
    sites.take_sampled_from(outside, shown, arcs);
  }
  std::ranges::sort(
      arcs, [](const GmonArc& a, const GmonArc& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; });
  std::vector<GmonArc> sums;
  for (const GmonArc& arc : arcs) {
    const bool is_same = !sums.empty() && sums.back().from == arc.from && sums.back().to == arc.to;
    if (is_same) {
      add_up(sums.back().calls, arc.calls);
      sums.back().is_estimate |= arc.is_estimate;
    } else {
      sums.push_back(arc);
    }
  }
  for (const GmonArc& arc : sums)
    if (arc.from == kNowhere) add_up(left_out, arc.calls);
  std::erase_if(sums, [](const GmonArc& arc) { return arc.calls == 0 || arc.from == kNowhere; });
  return sums;
}

}  // namespace

std::optional<uint64_t> outside_of_object(const Recorded& recorded, uint32_t object) {
  const SymbolTable& symbols = recorded.functions.objects()[object].symbols();
  if (const Symbol* start = symbols.find_name(object == kProgram ? "_start" : "_init")) return start->address;
  if (object == kProgram) return std::nullopt;
  uint64_t first = UINT64_MAX;
  for (const Function& f : recorded.functions.functions())
    if (f.object == object) first = std::min(first, f.address);
  return first < 16 ? std::nullopt : std::optional(first - 16);
}

const char* name_of_outside(uint32_t object) { return object == kProgram ? "_start" : "<spontaneous>"; }

Gmon gmon_of(const Recorded& recorded, uint32_t object, uint64_t* calls_left_out, const std::vector<CallSite>& sites) {
  const Shown shown(recorded, object);
  Gmon gmon;
  if (recorded.timed()) gmon.histograms = sampled_histograms(recorded, object);
  if (gmon.histograms.empty()) gmon.histograms = histograms_of(recorded, shown, object);
  uint64_t left_out = 0;
  const uint64_t outside = outside_of_object(recorded, object).value_or(kNowhere);
  gmon.arcs = arcs_of(recorded, shown, outside, Sites(recorded, object, sites), left_out);
  if (calls_left_out) *calls_left_out = left_out;
  for (const BlockCount& block : recorded.blocks)
    if (block.object == object) gmon.blocks.push_back({block.address, block.count});
  return gmon;
}

std::string remark_on_estimates(const Gmon& gmon) {
  uint64_t calls = 0;
  for (const GmonArc& arc : gmon.arcs)
    if (arc.is_estimate) add_up(calls, arc.calls);
  if (calls == 0) return "";
  return "who made " + prof_text::count_of(calls, "call") +
         " through pointers is estimated from samples; gprof has no mark for that, prof -G has ~";
}

void add_line_starts(Gmon& gmon, const Recorded& recorded, uint32_t object, const DebugSearch& search) {
  if (gmon.blocks.empty()) return;
  ObjectDebugInfo info(recorded.functions.objects()[object], search);
  const size_t blocks = gmon.blocks.size();
  const std::vector<BlockCount>& all = recorded.blocks;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].object != object) continue;
    // In a damaged file blocks may overlap.
    const bool has_next = i + 1 < all.size() && all[i + 1].object == object;
    const uint64_t end = std::min(all[i].address + all[i].size, has_next ? all[i + 1].address : UINT64_MAX);
    const std::vector<LineRange>& lines = info.lines_at(all[i].address).ranges;
    auto line = std::ranges::upper_bound(lines, all[i].address, {}, &LineRange::start);
    for (; line != lines.end() && line->start < end; ++line) gmon.blocks.push_back({line->start, all[i].count});
  }
  if (gmon.blocks.size() != blocks) std::ranges::sort(gmon.blocks, {}, &GmonBlock::address);
}

}  // namespace prof
