// Blocks that write nothing into traces, from where they are chosen to where they are told again.

#include "linker-rewrite/blocks/silent_blocks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "prof/instructions/trace/blocks.h"
#include "tests/unit/prof/instructions/trace_bytes.h"

using profld::choose_silent;
using profld::RecordNode;
using profld::SilentNodes;
using namespace prof_format;
using prof_test::bytes_of;

namespace {

using Function = std::vector<RecordNode>;

// Functions whose blocks write, but for those that are silent: numbered one function after the other.
struct Written {
  explicit Written(const std::vector<Function>& functions) {
    for (const Function& f : functions) {
      const std::optional<SilentNodes> told = choose_silent(f);
      REQUIRE(told);
      const uint32_t first = uint32_t(nodes.size());
      for (uint32_t n = 0; n < f.size(); ++n) {
        nodes.push_back(f[n]);
        for (uint32_t& to : nodes.back().next) {
          if (f[to].is_way && told->silent[to]) to = f[to].next[0];  // such a way is nothing
          to += first;
        }
        silent.push_back(told->silent[n]);
        TraceBlock block{};
        block.size = block.instructions = 1;
        block.before = told->before[n] == SilentNodes::kNone ? 0 : first + told->before[n] + 1;
        block.next = f[n].leaves ? 0 : uint32_t(f[n].next.size());
        block.flags = uint16_t((told->silent[n] ? 0 : kBlockWrites) | (told->by_ways[n] ? kBlockToldByWays : 0) |
                               (told->from_outside[n] ? kBlockFromOutside : 0));
        blocks += bytes_of(block);
        if (!f[n].leaves)
          for (const uint32_t to : nodes.back().next) ways += bytes_of(to);
      }
    }
    const TraceBlocks head{.blocks = nodes.size(),
                           .operands = 0,
                           .code_size = 1,
                           .block_size = sizeof(TraceBlock),
                           .operand_size = sizeof(TraceOperand)};
    table = bytes_of(head) + blocks + ways + "\x90";
  }
  std::vector<RecordNode> nodes;
  std::vector<bool> silent;
  std::string blocks, ways, table;
};

RecordNode node(std::vector<uint32_t> next, double cost = 1) { return {std::move(next), false, false, false, cost}; }
RecordNode last() { return {{}, false, false, true, 1}; }
RecordNode entry(std::vector<uint32_t> next) { return {std::move(next), false, true, false, 1}; }

// A function whose blocks go on to later ones mostly, with calls, branches, switches, loops, and ways between blocks.
Function random_function(std::mt19937& random) {
  const auto below = [&](size_t n) { return uint32_t(random() % n); };
  const uint32_t count = 2 + below(12);
  Function f(count);
  for (uint32_t b = 0; b < count; ++b) {
    f[b].is_entered = b == 0 || below(12) == 0;
    f[b].cost = 1 + below(100);
    const bool is_end = b + 1 == count, is_call = !is_end && below(6) == 0;
    f[b].leaves = is_end || is_call || below(12) == 0;
    if (is_end) continue;
    f[b].next = {b + 1};
    if (is_call) continue;
    for (uint32_t more = below(4) == 0 ? below(4) : below(2); more > 0; --more) {
      const uint32_t to = below(4) == 0 ? below(count) : b + 1 + below(count - b - 1);
      if (std::ranges::find(f[b].next, to) == f[b].next.end()) f[b].next.push_back(to);
    }
  }
  for (uint32_t b = 0; b < count; ++b) {
    if (f[b].leaves || f[b].next.size() != 2 || f[f[b].next[1]].is_entered || below(2) == 0) continue;
    f.push_back({{f[b].next[1]}, true, false, false, 1.0 + below(50)});
    f[b].next[1] = uint32_t(f.size() - 1);
  }
  return f;
}

// What else a thread does.
enum class Leaping { none, longjmp, stacks };

// Runs functions as a thread does, with calls, and handlers that come between any two blocks.
class Thread {
 public:
  Thread(const Written& program, std::mt19937& random, Leaping leaping = Leaping::none)
      : program_(program), random_(random), leaping_(leaping) {
    for (uint32_t n = 0; n < program.nodes.size(); ++n) {
      if (program.nodes[n].is_entered) entries_.push_back(n);
      if (program.nodes[n].leaves) calls_.push_back(n);
    }
    begin();
  }
  void step() {
    if (leaping_ == Leaping::longjmp && running_.size() > 1 && below(12) == 0) leap();
    Activation& a = running_.back();
    if (running_.size() < kDeepest && below(10) == 0) return begin();
    const RecordNode& n = program_.nodes[a.at];
    ++a.ran[a.at];
    if (!program_.silent[a.at]) {
      words.push_back(a.at);
      for (const auto& [block, times] : a.ran) ran[block] += times;
      a.ran.clear();
    }
    const bool returns = n.next.empty() || (n.leaves && below(4) == 0);
    if (returns) {
      running_.pop_back();
      if (running_.empty()) begin();
      return;
    }
    a.at = n.next[below(n.next.size())];
    if (n.leaves && leaping_ == Leaping::stacks && below(2) == 0) return switch_stacks();
    if (n.leaves && running_.size() < kDeepest) begin();
  }
  std::vector<uint32_t> words;
  std::map<uint32_t, uint64_t> ran;  // as far as words tell it: up to the last one of each that runs

 private:
  static constexpr size_t kDeepest = 8;
  struct Activation {
    uint32_t at;
    std::map<uint32_t, uint64_t> ran;
  };
  uint32_t below(size_t n) { return uint32_t(random_() % n); }
  void begin() { running_.push_back({entries_[below(entries_.size())], {}}); }
  // Some of those that are interrupted, or have called others, goes on after a call of its own.
  void leap() {
    running_.resize(1 + below(running_.size() - 1));
    const uint32_t call = calls_[below(calls_.size())];
    if (program_.nodes[call].next.empty()) return running_.back() = {entries_[0], {}}, void();
    running_.back() = {program_.nodes[call].next[0], {}};
  }
  // Others go on that did so before.
  void switch_stacks() {
    std::swap(running_, other_[below(std::size(other_))]);
    if (running_.empty()) begin();
  }

  const Written& program_;
  std::mt19937& random_;
  const Leaping leaping_;
  std::vector<uint32_t> entries_, calls_;
  std::vector<Activation> running_;
  std::array<std::vector<Activation>, 2> other_;
};

}  // namespace

TEST_CASE("a block that one of two ways goes through needs a record, those between need none") {
  // if (a) 1; 2: if (b) 3; 4
  const auto told = choose_silent({entry({1, 2}), node({2}, 4), node({3, 4}, 8), node({4}, 4), last()});
  REQUIRE(told);
  CHECK(told->silent == std::vector<bool>{false, false, true, false, false});
  CHECK(told->before[3] == 2);
  CHECK(told->by_ways[4]);
}

TEST_CASE("a block after a call, where other ways meet it, does not depend on what ran before") {
  // 0 -> 1, 2; 1 calls, and goes on to 2; 2 -> 3
  RecordNode call = node({2});
  call.leaves = true;
  const auto told = choose_silent({entry({1, 2}), call, node({3}), last()});
  REQUIRE(told);
  CHECK(!told->silent[0]);
  CHECK(told->silent[2]);
  CHECK(told->from_outside[3]);
  CHECK(told->before[3] == 2);
}

TEST_CASE("a block with no place for a record does without, or its function is not traced") {
  const auto chosen = [](std::vector<uint32_t> after) {
    return choose_silent({entry({1}), node(std::move(after), RecordNode::kNoPlace), last()}).has_value();
  };
  CHECK(chosen({2}));
  CHECK(!chosen({1, 2}));
}

namespace {

struct Round {
  Round(std::mt19937& random, unsigned steps, Leaping leaping)
      : program({random_function(random), random_function(random), random_function(random)}),
        table(program.table),
        ways(table),
        sequence(ways) {
    Thread thread(program, random, leaping);
    for (unsigned i = 0; i < steps; ++i) thread.step();
    std::vector<uint32_t> before;
    for (const uint32_t word : thread.words) {
      before.clear();
      sequence.write(word, before);
      for (const uint32_t b : before) ++told[b];
      ++told[word];
    }
    words = thread.words.size();
    ran = std::move(thread.ran);
  }
  // How many were told that did not run, or not told.
  uint64_t wrong() const {
    uint64_t more = 0, less = 0;
    for (uint32_t n = 0; n < program.nodes.size(); ++n) {
      const auto times = [n](const auto& map) { return map.contains(n) ? map.at(n) : uint64_t(0); };
      more += std::max(times(told), times(ran)) - times(ran);
      less += std::max(times(told), times(ran)) - times(told);
    }
    return std::max(more, less);
  }
  Written program;
  prof::BlockTable table;
  prof::BlockWays ways;
  prof::BlockSequence sequence;
  std::map<uint32_t, uint64_t> told, ran;
  uint64_t words = 0;
};

}  // namespace

TEST_CASE("what ran in silence is told, with calls and with handlers that come between any two blocks") {
  std::mt19937 random(1);
  uint64_t words = 0, blocks = 0, doubtful = 0;
  for (unsigned i = 0; i < 3000; ++i) {
    CAPTURE(i);
    const Round round(random, 500, Leaping::none);
    for (const auto& [block, times] : round.told) blocks += times;
    words += round.words;
    doubtful += round.sequence.doubtful();
    CHECK(!round.sequence.has_gaps());
    CHECK(!round.sequence.begins_inside());
    REQUIRE(round.told == round.ran);
  }
  CHECK(words * 4 < blocks * 3);
  CHECK(doubtful * 50 < blocks);
}

TEST_CASE("where handlers leave by longjmp, or switch stacks, what may be told wrongly is in doubt") {
  std::mt19937 random(1);
  uint64_t wrong = 0, blocks = 0, doubtful = 0, never_resumed = 0;
  for (unsigned i = 0; i < 6000; ++i) {
    CAPTURE(i);
    const Round round(random, 500, i % 2 ? Leaping::longjmp : Leaping::stacks);
    for (const auto& [block, times] : round.told) blocks += times;
    wrong += round.wrong();
    doubtful += round.sequence.doubtful();
    never_resumed += round.sequence.never_resumed();
    CHECK(!round.sequence.has_gaps());
    REQUIRE(round.wrong() <= round.sequence.doubtful());
  }
  MESSAGE(wrong << " wrong, " << doubtful << " in doubt, of " << blocks);
  CHECK(wrong > 0);
  CHECK(never_resumed > 0);
  CHECK(doubtful * 10 < blocks);
}
