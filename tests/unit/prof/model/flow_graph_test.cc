// How often control took each arc between blocks, from counts of blocks and what profld knows of ways.

#include "prof/model/blocks/flow_graph.h"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>

namespace {

using prof::BlockCount;
using Arcs = std::map<std::pair<uint64_t, uint64_t>, uint64_t>;  // counts by offsets of the two blocks

constexpr uint64_t kEntry = 0x1000;

struct Code {
  std::string bytes;
  std::vector<BlockCount> blocks;
  prof::WaysOn ways;

  Code& block(uint64_t count, const std::string& code) {
    blocks.push_back({0, kEntry + bytes.size(), uint32_t(code.size()), count});
    bytes += code;
    return *this;
  }
  Code& target(uint64_t from, uint64_t to) {
    ways.targets.push_back({0, kEntry + from, kEntry + to});
    return *this;
  }
  prof::FlowGraph graph() const {
    return prof::flow_graph(blocks, ways, kEntry,
                            [&](uint64_t address, uint64_t size) { return bytes.substr(address - kEntry, size); });
  }
  // Of those that are exact.
  Arcs exact() const {
    const prof::FlowGraph found = graph();
    Arcs arcs;
    for (const prof::FlowArc& arc : found.arcs)
      if (arc.is_exact) arcs[{found.blocks[arc.from].start - kEntry, found.blocks[arc.to].start - kEntry}] = arc.count;
    return arcs;
  }
};

const std::string kNop = "\x90", kRet = "\xc3", kJumpToRax = "\xff\xe0";
std::string jump(int8_t by) { return std::string("\xeb") + char(by); }
std::string branch(int8_t by) { return std::string("\x75") + char(by); }

// 0: jump by a table to 2, 4 or 6. 2: on to 4, as a case without a break. 4: jump to 6.
Code two_cases() {
  Code code;
  code.block(10, kJumpToRax).block(4, kNop + kNop).block(7, jump(0)).block(10, kRet);
  return code;
}

}  // namespace

TEST_CASE("arcs: where a jump through a table leads follows from the counts of its targets") {
  Code code = two_cases();
  code.target(0, 2).target(0, 4).target(0, 6);
  CHECK(code.exact() == Arcs{{{0, 2}, 4}, {{0, 4}, 3}, {{0, 6}, 3}, {{2, 4}, 4}, {{4, 6}, 7}});
}

TEST_CASE("arcs: targets that are not all in the function say nothing") {
  Code code = two_cases();
  code.target(0, 2).target(0, 0x100);
  CHECK(code.exact() == Arcs{{{2, 4}, 4}, {{4, 6}, 7}});
}

TEST_CASE("arcs: counted ways tell what counts of blocks do not") {
  // 0: to 2 or 6. 2: to 4 or 8. 4: return. 6: to 4 or 8. 8: return.
  Code code;
  code.block(10, branch(4)).block(6, branch(4)).block(5, kNop + kRet).block(4, branch(-4)).block(5, kRet);
  CHECK(code.exact() == Arcs{{{0, 2}, 6}, {{0, 6}, 4}});
  const Arcs all = {{{0, 2}, 6}, {{0, 6}, 4}, {{2, 4}, 4}, {{2, 8}, 2}, {{6, 4}, 1}, {{6, 8}, 3}};
  code.ways.ways = {{0, kEntry + 4, true, 2}};
  CHECK(code.exact() == all);
  code.ways.ways = {{0, kEntry + 4, false, 4}};
  CHECK(code.exact() == all);
}

TEST_CASE("arcs: a call in front of the function's entry, in its cold part, does not come back") {
  const std::string call("\xe8\0\0\0\0", 5);
  Code code;
  code.block(0, call).block(1, kRet);
  const auto bytes = [&](uint64_t address, uint64_t size) { return code.bytes.substr(address - kEntry, size); };
  CHECK(prof::flow_graph(code.blocks, code.ways, kEntry + call.size(), bytes).arcs.empty());
  CHECK(prof::flow_graph(code.blocks, code.ways, kEntry, bytes).arcs.size() == 1);
}
