// As few counters as possible, where they cost least.
//
// Which blocks. Let a PLACE be where paths meet: the ends of some blocks and the starts of those that control goes on
// to from there. (If A goes on to B or C, and D to C only, then A and D end in the place where B and C start.) So a
// block leads from one place to another, as an edge of a graph does, and what comes to a place goes away from it.
// Therefore, if the counters of some blocks are left out, their counts follow from the others, as long as they make no
// circle (whatever its direction): a place with a single unknown block gives its count, and so on. The most that can be
// left out is a spanning tree, and of all of these we take the one with most executions, as far as these can be guessed
// (flow_graph.cc; Knuth and Stevenson 1973, for counters in blocks; Ball and Larus 1994, for such on edges).
//
// Ways. Of the two ways on from a conditional jump, the one that seems less likely is an edge between two places as
// well; the other makes one place of its two ends. So a way may have a counter, after the jump, or far away, where the
// jump leads first: that is cheaper for a block that leads back to the place it comes from, and in a row of comparisons
// that all lead out to the same place. Ways and blocks are looked at together, the dearest first, and get none as long
// as the tree grows by them. Nearly always a way is a place more, too, so that this takes no more counters than
// counting blocks alone; where its two ends meet by other ways as well, it is one more (below 1 % of those of large
// programs). For that it is known how often control took each way. Only where an increment may not stand on it both are
// no more than places.
//
// What is outside. Where control enters and leaves the function is one place, 0. Calls may not return, or return twice;
// so a block that ends with a call ends in place 0, and the one after it starts there. So nothing is concluded from
// before a call to after it, and counts are exact whichever way control leaves (exit, throw, longjmp), also while
// functions are open.
//
// Where. The increment changes the flags (all but the carry), so it stands in front of an instruction of the block at
// which they are dead; mostly the one that sets them for the jump at the end. It needs no register: threads find their
// own counters by the segment register gs, which programs do not use (libprof/file/block_counters.cc), or there is one
// array for all threads (decide/threads.cc). A block without such a point (a second jump that looks at the same
// comparison) gets its counter at its start, and after it the comparison once more, if that is one of registers that
// have not changed since. Otherwise it gets none. If that does not leave enough, nothing is counted in the function.
//
// An increment does not stand where nothing may (may_insert_before in flow_graph.h).
//
// Loops. An increment waits for the one before it of the same counter: what was stored has to be loaded, which takes
// five to eight cycles. Nobody sees that where a block runs now and then, but a loop of a few instructions takes no
// more than these otherwise: adding up an array became eight times slower, and bzip2's inner loop three times, so that
// it was shown as the program's most expensive function, which it is not. So a small loop that has no other in it
// stands several times in the copy, one after the other, each time with counters of its own, and goes from each to the
// next: no increment waits any more. (Registers would do it, too, but there are none: compilers let functions know
// which ones others leave alone, -fipa-ra, so none is dead at a return.) A block's count is the sum of its counters.

#include "block_counters.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

#include "flow_graph.h"
#include "libprof/format/blocks.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/sort_unique.h"
#include "linker-rewrite/program/fragments.h"
#include "linker-rewrite/program/patch_sites.h"
#include "linker-rewrite/unwind/cfa.h"
#include "linker-rewrite/unwind/lsda.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/semantics.h"
#include "liveness.h"

namespace profld {

namespace {

constexpr uint32_t kMaxLoop = 32;  // instructions of a loop that stands several times in the copy
constexpr double kAfter = 1.1;     // what an increment on the way after a jump costs, beside one in a block
constexpr double kFar = 3;         // and on the way to its target, with a jump of its own
constexpr double kLonger = 0.1;    // which also makes the first jump longer, and the code
constexpr double kTwice = 2;       // what an increment costs after which a comparison is made again
// How often a loop stands in the copy, by the number of its instructions.
constexpr uint32_t times_of_loop(uint32_t instructions) {
  return instructions <= 8 ? 8 : instructions <= 16 ? 4 : instructions <= kMaxLoop ? 2 : 1;
}
constexpr double kNever = std::numeric_limits<double>::infinity();  // to be counted

// Sets of numbers that are joined.
class Sets {
 public:
  explicit Sets(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0u); }

  size_t size() const { return parent_.size(); }
  uint32_t find(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  // False if they were in one set already.
  bool join(uint32_t a, uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);  // so 0 stays the number of its set
    return a != b;
  }

 private:
  std::vector<uint32_t> parent_;
};

class FunctionCounters {
 public:
  // `probes`: their places, ascending.
  FunctionCounters(const Program& program, const Group& group, const Arrivals& arrivals, const FlagPassing& passing,
                   const std::vector<OldAddr>& probes)
      : program_(program),
        group_(group),
        arrivals_(arrivals),
        probes_(probes),
        graph_(program, group, arrivals),
        live_(program, group, graph_, passing),
        places_(1 + 2 * graph_.blocks().size()) {}

  // By part, as BlockCounters has them by range. Counters are numbered from 0.
  struct Placed {
    CountedFunction function;
    std::vector<std::vector<CounterPlace>> counters_of;
    std::vector<std::vector<EdgeRecord>> edges;
    std::vector<std::vector<RepeatedLoop>> loops;
    uint32_t counters = 0;
  };

  // Nullopt if it cannot be counted.
  std::optional<Placed> place() {
    find_points();
    guess_costs();
    join_places();
    const Choice best = choose();
    if (!best.is_possible) return std::nullopt;
    Placed placed;
    CountedFunction& function = placed.function;
    uint32_t& counters = placed.counters;
    std::vector<std::vector<CounterPlace>>& of_part = placed.counters_of;
    std::vector<std::vector<EdgeRecord>>& edges = placed.edges;
    const std::vector<uint32_t> numbers = number_places(function);
    of_part.resize(group_.code.parts.size());
    edges.resize(of_part.size());
    function.entry = group_.code.entry;
    std::vector<size_t> entry_of;  // by counter
    for (uint32_t b = 0; b < graph_.blocks().size(); ++b) {
      const BasicBlock& block = graph_.blocks()[b];
      function.blocks.push_back({graph_.range(block), numbers[start_of(b)], numbers[end_of(b)], CountedBlock::kNone});
      if (!best.counts_block[b]) continue;
      of_part[block.part].push_back({points_[b]->insn, counters, points_[b]->again});
      function.blocks.back().counter = counters++;
      entry_of.push_back(function.blocks.size() - 1);
    }
    for (size_t w = 0; w < ways_.size(); ++w) {
      const Way& way = ways_[w];
      const BasicBlock& block = graph_.blocks()[way.from];
      const OldAddr after = graph_.range(block).end;
      function.blocks.push_back(
          {{after, after}, numbers[end_of(way.from)], numbers[start_of(way.to)], CountedBlock::kNone, way.is_taken});
      if (!best.counts_way[w]) continue;
      edges[block.part].push_back({block.end - 1, way.is_taken, counters});
      function.blocks.back().counter = counters++;
      entry_of.push_back(function.blocks.size() - 1);
    }
    for (uint32_t b = 0; b < graph_.blocks().size(); ++b) {
      const BasicBlock& block = graph_.blocks()[b];
      const JumpTable* table = graph_.table_of(block);
      if (!table) continue;
      std::vector<OldAddr> likely(table->targets.begin(), table->targets.begin() + ptrdiff_t(table->likely));
      sort_unique(likely);
      for (const uint32_t s : graph_.successors(b)) {
        const OldAddr target = graph_.range(graph_.blocks()[s]).start;
        function.blocks.push_back({{target, target},
                                   numbers[end_of(b)],
                                   numbers[start_of(s)],
                                   prof_format::kTarget | b,
                                   !std::ranges::binary_search(likely, target)});
      }
    }
    repeat_loops(entry_of, placed);
    return placed;
  }

 private:
  struct Point {
    uint32_t insn;
    ByteView again;
  };
  // One of the two ways on from a conditional jump, the one that seems less likely, if an increment may stand there.
  struct Way {
    uint32_t from, to;  // blocks
    bool is_taken;
    double cost;
  };
  struct Choice {
    std::vector<bool> counts_block, counts_way;
    bool is_possible = true;
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kMaxBlocksBack = 4;

  static uint32_t start_of(uint32_t block) { return 1 + 2 * block; }
  static uint32_t end_of(uint32_t block) { return 2 + 2 * block; }

  bool may_stand_before(const BasicBlock& b, uint32_t i) const {
    const Code& code = group_.code.parts[b.part];
    return may_insert_before(code, code.insns[i], arrivals_);
  }

  // For each block the first instruction that an increment may stand before, if there is one.
  void find_points() {
    points_.resize(graph_.blocks().size());
    for (uint32_t b = 0; b < points_.size(); ++b)
      live_.each_insn(b, [&](uint32_t i, Flags live) {
        if (live == 0 && may_stand_before(graph_.blocks()[b], i)) points_[b] = Point{i, {}};
      });
    const std::vector<uint32_t> before = only_predecessors();
    for (uint32_t b = 0; b < points_.size(); ++b)
      if (!points_[b]) compare_again(b, before);
  }

  // By block, the one that control comes from; kNone if it comes from several, or from outside.
  std::vector<uint32_t> only_predecessors() const {
    std::vector<uint32_t> before(graph_.blocks().size(), kNone), count(before.size());
    for (uint32_t b = 0; b < before.size(); ++b)
      for (const uint32_t s : graph_.successors(b)) {
        before[s] = b;
        ++count[s];
      }
    for (uint32_t b = 0; b < before.size(); ++b)
      if (count[b] != 1 || graph_.blocks()[b].entered) before[b] = kNone;
    return before;
  }

  // The flags that are live at the start of the block are those of a comparison in a block before it, which can be made
  // once more.
  void compare_again(uint32_t b, const std::vector<uint32_t>& before) {
    const uint32_t start = graph_.blocks()[b].first;
    if (!may_stand_before(graph_.blocks()[b], start)) return;
    uint16_t written = 0;  // general registers, since
    for (uint32_t a = before[b], n = 0; a != kNone && n < kMaxBlocksBack; a = before[a], ++n) {
      const BasicBlock& block = graph_.blocks()[a];
      const Code& code = group_.code.parts[block.part];
      for (uint32_t i = block.end; i-- > block.first;) {
        const Insn& insn = code.insns[i];
        const FlagEffect effect = flag_effect_of(code, insn);
        const Semantics semantics = semantics_of(code, insn);
        if (effect.is_comparison) {
          if ((semantics.reads & written) == 0) points_[b] = Point{start, code.bytes_of(insn)};
          return;
        }
        const bool is_jump = insn.flow == Flow::jump_if || insn.flow == Flow::jump;
        const bool is_move = insn.flow == Flow::next && !effect.overwrites && semantics.action == Action::move;
        if (!is_jump && !is_move) return;
        written |= semantics.writes;
      }
    }
  }

  void guess_costs() {
    const std::vector<BasicBlock>& blocks = graph_.blocks();
    std::vector<bool> ends;
    for (const BasicBlock& b : blocks) {
      const Insn& last = graph_.last_insn(b);
      ends.push_back(last.flow == Flow::stop || live_.never_returns(group_.code.parts[b.part], last));
    }
    Frequencies guessed = guess_frequencies(graph_, ends);
    for (uint32_t b = 0; b < blocks.size(); ++b)
      if (const auto way = way_that_may_count(b, guessed.ways[b])) ways_.push_back(*way);
    costs_ = std::move(guessed.blocks);
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      if (!points_[b])
        costs_[b] = kNever;
      else if (!points_[b]->again.empty())
        costs_[b] *= kTwice;
    }
  }

  // Where a jump leads that enters the function anew, other code may be needed than on its other jumps (hooks).
  std::optional<Way> way_that_may_count(uint32_t b, const std::vector<double>& frequencies) const {
    const BasicBlock& block = graph_.blocks()[b];
    const std::span<const uint32_t> next = graph_.successors(b);
    if (graph_.last_insn(block).flow != Flow::jump_if || block.leaves || next.size() != 2 || next[0] == next[1])
      return std::nullopt;
    const bool is_taken = frequencies[1] < frequencies[0];
    const uint32_t to = next[is_taken];
    if (live_.at_start(to) != 0 || (is_taken && graph_.blocks()[to].entered)) return std::nullopt;
    const double cost =
        is_taken ? frequencies[1] * kFar + (frequencies[0] + frequencies[1]) * kLonger : frequencies[0] * kAfter;
    return Way{b, to, is_taken, cost};
  }

  void join_places() {
    auto way = ways_.begin();
    for (uint32_t b = 0; b < graph_.blocks().size(); ++b) {
      if (graph_.blocks()[b].entered) places_.join(0, start_of(b));
      if (graph_.blocks()[b].leaves) places_.join(0, end_of(b));
      const bool has_way = way != ways_.end() && way->from == b;
      for (const uint32_t s : graph_.successors(b))
        if (!has_way || s != way->to) places_.join(end_of(b), start_of(s));
      if (has_way) ++way;
    }
  }

  // What is dearest first gets no counter, if it makes no circle with others that have none.
  Choice choose() const {
    Choice choice{std::vector<bool>(costs_.size()), std::vector<bool>(ways_.size())};
    const uint32_t blocks = uint32_t(costs_.size());
    std::vector<uint32_t> order(blocks + ways_.size());  // of blocks, and of ways after them
    std::iota(order.begin(), order.end(), 0u);
    const auto cost_of = [&](uint32_t i) { return i < blocks ? costs_[i] : ways_[i - blocks].cost; };
    std::ranges::stable_sort(order, std::greater<>(), cost_of);
    Sets joined = places_;  // by what has no counter
    for (const uint32_t i : order) {
      if (i < blocks) {
        if (joined.join(start_of(i), end_of(i))) continue;
        choice.counts_block[i] = true;
        choice.is_possible &= points_[i].has_value();
      } else {
        const Way& way = ways_[i - blocks];
        choice.counts_way[i - blocks] = !joined.join(end_of(way.from), start_of(way.to));
      }
    }
    return choice;
  }

  // Gives counters to the later times of small loops that have counters. `entry_of`: by counter, its index in the
  // function's blocks.
  void repeat_loops(const std::vector<size_t>& entry_of, Placed& placed) const {
    placed.loops.resize(group_.code.parts.size());
    std::vector<CountedBlock>& entries = placed.function.blocks;
    const size_t once = entries.size();
    std::optional<std::vector<OldAddr>> borders;
    for (uint32_t b = 0; b < graph_.blocks().size(); ++b) {
      const std::optional<RepeatedLoop> loop = small_loop_to(b);
      if (!loop) continue;
      const uint32_t part = graph_.blocks()[b].part;
      std::vector<RepeatedLoop>& loops = placed.loops[part];
      if (!loops.empty() && loops.back().last >= loop->first) continue;
      const auto inside = [&](auto& places) {
        const auto insn_of = [](const auto& place) { return place.insn; };
        const auto first = std::ranges::lower_bound(places, loop->first, {}, insn_of);
        return std::span(first, std::ranges::upper_bound(first, places.end(), loop->last, {}, insn_of));
      };
      const std::span<CounterPlace> counters = inside(placed.counters_of[part]);
      const std::span<EdgeRecord> edges = inside(placed.edges[part]);
      // The code of ways to targets is elsewhere.
      if (counters.empty() || std::ranges::any_of(edges, &EdgeRecord::is_taken)) continue;
      if (!borders) borders = find_borders();
      const Code& code = group_.code.parts[part];
      if (!is_one_piece({code.address(code.insns[loop->first]), code.next(code.insns[loop->last])}, *borders)) continue;
      loops.push_back(*loop);
      const auto repeat = [&](auto& place) {
        place.later = placed.counters;
        for (uint32_t time = 1; time < loop->times; ++time) {
          CountedBlock again = entries[entry_of[place.number]];
          again.counter = placed.counters++;
          entries.push_back(again);
        }
      };
      std::ranges::for_each(counters, repeat);
      for (EdgeRecord& edge : edges)
        if (edge.insn != loop->last) repeat(edge);
    }
    placed.function.later = entries.size() - once;
  }

  // The loop that ends with the block, if it is one that may be repeated.
  std::optional<RepeatedLoop> small_loop_to(uint32_t end) const {
    const BasicBlock& last_block = graph_.blocks()[end];
    const Code& code = group_.code.parts[last_block.part];
    const Insn& back = graph_.last_insn(last_block);
    if ((back.flow != Flow::jump_if && back.flow != Flow::jump) || back.prefixes != 0) return std::nullopt;
    const OldAddr start = code.target(back);
    if (start > code.address(back) || !code.range.contains(start)) return std::nullopt;
    uint32_t begin = end;
    while (begin > 0 && graph_.range(graph_.blocks()[begin]).start > start &&
           graph_.blocks()[begin - 1].part == last_block.part && end - begin < kMaxLoop)
      --begin;
    const BasicBlock& first_block = graph_.blocks()[begin];
    const OldRange range{graph_.range(first_block).start, graph_.range(last_block).end};
    const uint32_t size = last_block.end - first_block.first;
    if (range.start != start || size > kMaxLoop) return std::nullopt;
    // The entry hook stands there, and control runs through it once only.
    if (first_block.first == 1 && starts_with_endbr64(code.bytes)) return std::nullopt;
    const CodeRange& whole = program_.ranges[group_.ranges[last_block.part]];
    for (uint32_t b = begin; b <= end; ++b) {
      const BasicBlock& block = graph_.blocks()[b];
      const Insn& last = graph_.last_insn(block);
      const bool jumps = last.flow == Flow::jump || last.flow == Flow::jump_if;
      if (block.entered || block.leaves || (!jumps && last.flow != Flow::next)) return std::nullopt;
      if (!jumps) continue;
      const OldAddr target = code.target(last);
      const bool is_other_loop = target > start && target <= code.address(last);
      if (is_other_loop && range.contains(target)) return std::nullopt;
      if (is_tail_call(program_, whole, code.address(last), target)) return std::nullopt;
    }
    return RepeatedLoop{first_block.first, last_block.end - 1, times_of_loop(size)};
  }

  // Where something begins or ends that is told of the group's code by its addresses: rows of unwind tables, call
  // sites of handlers. Ascending.
  std::vector<OldAddr> find_borders() const {
    std::vector<OldAddr> borders;
    const EhFrame& frames = *program_.frames;
    for (const Code& part : group_.code.parts)
      for (size_t f = frames.first_reaching(part.range.start); f < frames.fdes.size(); ++f) {
        const Fde& fde = frames.fdes[f];
        if (fde.range.start >= part.range.end) break;
        borders.insert(borders.end(), {fde.range.start, fde.range.end});
        CfaReader rows(frames, fde);
        for (CfaInstruction i; rows.next(i);) borders.push_back(i.location);
        if (fde.lsda == OldAddr()) continue;
        const std::optional<Lsda> lsda = read_lsda(*program_.image, frames, fde);
        if (!lsda) continue;  // such a function does not move
        for (const CallSite& site : lsda->call_sites) borders.insert(borders.end(), {site.range.start, site.range.end});
      }
    sort_unique(borders);
    return borders;
  }

  // Whether all that is told of the code by its addresses is the same for all of the range, and none of its bytes is
  // known elsewhere.
  bool is_one_piece(OldRange range, const std::vector<OldAddr>& borders) const {
    const auto has = [&](const std::vector<OldAddr>& places, OldAddr from) {
      const auto place = std::ranges::lower_bound(places, from);
      return place != places.end() && *place < range.end;
    };
    return !has(borders, range.start + 1) && !has(arrivals_.split, range.start) && !has(probes_, range.start) &&
           program_.image->relocations_in(range).empty();
  }

  // By start and end of block.
  std::vector<uint32_t> number_places(CountedFunction& function) {
    std::vector<uint32_t> numbers(places_.size());
    for (uint32_t i = 0; i < numbers.size(); ++i)
      numbers[i] = places_.find(i) == i ? function.places++ : numbers[places_.find(i)];
    return numbers;
  }

  const Program& program_;
  const Group& group_;
  const Arrivals& arrivals_;
  const std::vector<OldAddr>& probes_;
  const FlowGraph graph_;
  const LiveFlags live_;
  std::vector<std::optional<Point>> points_;
  std::vector<double> costs_;  // of a counter in each block
  std::vector<Way> ways_;      // ascending by block
  Sets places_;                // of place 0 and the starts and ends of blocks
};

}  // namespace

BlockCounters place_block_counters(const Program& program, const std::vector<OldAddr>& old_entries,
                                   Increment increment) {
  const Arrivals arrivals = find_arrivals(program, old_entries);
  const FlagPassing passing = find_flag_passing(program, arrivals, kFlagsOfIncrement);
  std::vector<OldAddr> probes;
  for (const Probe& probe : find_probes(*program.image)) probes.push_back(probe.address);
  sort_unique(probes);
  std::vector<std::optional<FunctionCounters::Placed>> found(program.groups.size());
  parallel_for(found.size(), [&](size_t g) {
    const Group& group = program.groups[g];
    if (group.moves()) found[g] = FunctionCounters(program, group, arrivals, passing, probes).place();
  });

  BlockCounters all;
  all.increment = increment;
  all.of_range.resize(program.ranges.size());
  all.edges.resize(program.ranges.size());
  all.loops.resize(program.ranges.size());
  for (size_t g = 0; g < found.size(); ++g) {
    const Group& group = program.groups[g];
    if (!group.moves()) continue;
    if (!found[g]) {
      ++all.uncounted;
      continue;
    }
    FunctionCounters::Placed& placed = *found[g];
    const uint32_t first = all.counters;
    const auto finish = [&](auto& place) {
      place.number += first;
      if (place.later != CounterPlace::kNoLater) place.later += first;
      place.increment = increment;
    };
    for (size_t p = 0; p < placed.counters_of.size(); ++p) {
      std::ranges::for_each(placed.counters_of[p], finish);
      std::ranges::for_each(placed.edges[p], finish);
      all.of_range[group.ranges[p]] = std::move(placed.counters_of[p]);
      all.edges[group.ranges[p]] = std::move(placed.edges[p]);
      all.loops[group.ranges[p]] = std::move(placed.loops[p]);
    }
    for (CountedBlock& block : placed.function.blocks)
      if (block.counter < prof_format::kTarget) block.counter += first;
    all.counters += placed.counters;
    all.functions.push_back(std::move(placed.function));
  }
  return all;
}

}  // namespace profld
