// Executions of basic blocks, from the section .prof.blocks and counters.

#include "prof/read/block_table.h"

#include <doctest/doctest.h>

#include <cstring>
#include <tuple>

#include "libprof/format/blocks.h"

using namespace prof;
using prof_format::BlockEntry;
using prof_format::BlockFunction;
using prof_format::BlocksHeader;
using prof_format::kNoCounter;

namespace {

template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string section(const std::vector<BlockFunction>& functions, const std::vector<BlockEntry>& blocks) {
  BlocksHeader header{};
  std::memcpy(header.magic, prof_format::kBlocksMagic, sizeof header.magic);
  header.function_size = sizeof(BlockFunction);
  header.block_size = sizeof(BlockEntry);
  header.functions = functions.size();
  header.blocks = blocks.size();
  std::string out;
  append(out, header);
  for (const BlockFunction& f : functions) append(out, f);
  for (const BlockEntry& b : blocks) append(out, b);
  return out;
}

std::vector<uint64_t> counts(const std::string& bytes, const std::vector<uint64_t>& counters) {
  std::vector<uint64_t> all;
  for (const BlockRuns& run : block_runs(BlocksSection(bytes), counters, Listed::all).blocks) all.push_back(run.count);
  return all;
}

// if (...) B; else C; D: blocks A, B, C, D.
const std::vector<BlockEntry> kBranch = {
    {0, 4, 0, 1, 0}, {4, 4, 1, 2, kNoCounter}, {8, 4, 1, 2, 1}, {12, 4, 2, 0, kNoCounter}};

}  // namespace

TEST_CASE("counts of blocks without counters follow from the others") {
  const std::string bytes = section({{0x1000, 4, 3}}, kBranch);
  CHECK(counts(bytes, {10, 3}) == std::vector<uint64_t>{10, 7, 3, 10});
  const std::vector<BlockRuns> runs = block_runs(BlocksSection(bytes), {10, 3}, Listed::all).blocks;
  CHECK(runs[1].address == 0x1004);
  CHECK(runs[1].size == 4);
}

TEST_CASE("a counted way on from a jump is no block") {
  // A; if (...) goto D; B; if (...) goto D; C; D: blocks A, B, C, D, and the ways to D.
  const std::string bytes = section({{0x1000, 6, 5}}, {{0, 4, 0, 1, kNoCounter},
                                                       {4, 4, 1, 2, kNoCounter},
                                                       {8, 4, 2, 3, kNoCounter},
                                                       {12, 4, 3, 0, 0},
                                                       {4, 0, 1, 3, 1},
                                                       {8, 0, 2, 3, 2}});
  CHECK(counts(bytes, {10, 3, 2}) == std::vector<uint64_t>{10, 7, 5, 10});
}

TEST_CASE("ways on from jumps have counts, with and without counters") {
  // As above, where C, B and D have counters, and the way from B to C is told as well.
  const std::string bytes = section({{0x1000, 6, 5}}, {{0, 4, 0, 1, kNoCounter},
                                                       {4, 4, 1, 2, kNoCounter},
                                                       {8, 4, 3, 4, 0},
                                                       {12, 4, 4, 0, kNoCounter},
                                                       {4, prof_format::kMarked, 1, 4, 1},
                                                       {8, 0, 2, 3, kNoCounter}});
  std::vector<std::tuple<uint64_t, bool, uint64_t>> ways;
  for (const WayRuns& way : block_runs(BlocksSection(bytes), {5, 3}, Listed::all).ways)
    ways.emplace_back(way.end, way.is_taken, way.count);
  CHECK(ways == std::vector<std::tuple<uint64_t, bool, uint64_t>>{{0x1004, true, 3}, {0x1008, false, 5}});
}

TEST_CASE("of older copies blocks are known, and not which way is which") {
  std::string bytes = section({{0x1000, 5, 3}}, kBranch);
  append(bytes, BlockEntry{4, 0, 1, 2, 1});
  BlocksHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.blocks = 5;
  std::memcpy(header.magic, prof_format::kOldLockedBlocksMagic, sizeof header.magic);
  std::memcpy(bytes.data(), &header, sizeof header);
  const AllBlocks all = block_runs(BlocksSection(bytes), {10, 3}, Listed::all);
  CHECK(all.blocks.size() == 4);
  CHECK(all.ways.empty());
  CHECK(are_increments_locked(bytes));
}

TEST_CASE("what a jump through a table leads to is no block") {
  // switch (...) { case 0: B; break; case 1: C; } D: blocks A, B, C, D, and the targets of A's jump.
  const std::string bytes = section({{0x1000, 8, 3}}, {{0, 4, 0, 1, kNoCounter},
                                                       {4, 4, 1, 2, kNoCounter},
                                                       {8, 4, 1, 2, 1},
                                                       {12, 4, 2, 0, 0},
                                                       {4, 0, 1, 1, prof_format::kTarget | 0},
                                                       {8, 0, 1, 1, prof_format::kTarget | 0},
                                                       {12, prof_format::kMarked, 1, 1, prof_format::kTarget | 0},
                                                       {12, 0, 1, 1, prof_format::kTarget | 99}});
  CHECK(counts(bytes, {10, 3}) == std::vector<uint64_t>{10, 7, 3, 10});
  std::vector<std::tuple<uint64_t, uint64_t, bool>> targets;
  for (const JumpTarget& target : block_runs(BlocksSection(bytes), {10, 3}, Listed::all).targets)
    targets.emplace_back(target.from, target.to, target.is_likely);
  CHECK(targets == std::vector<std::tuple<uint64_t, uint64_t, bool>>{
                       {0x1000, 0x1004, true}, {0x1000, 0x1008, true}, {0x1000, 0x100c, false}});
}

TEST_CASE("blocks of functions that never ran are listed only on request") {
  std::vector<BlockEntry> blocks = kBranch;
  for (BlockEntry block : kBranch) {
    if (block.counter != kNoCounter) block.counter += 2;
    blocks.push_back(block);
  }
  const std::string bytes = section({{0x1000, 4, 3}, {0x2000, 4, 3}}, blocks);
  const std::vector<uint64_t> second_ran = {0, 0, 10, 3};
  CHECK(block_runs(BlocksSection(bytes), second_ran, Listed::all).blocks.size() == 8);
  const std::vector<BlockRuns> runs = block_runs(BlocksSection(bytes), second_ran, Listed::executed).blocks;
  REQUIRE(runs.size() == 4);
  CHECK(runs[0].address == 0x2000);
  CHECK(runs[1].count == 7);
  CHECK(increments(BlocksSection(bytes), second_ran).of_functions.size() == 1);
}

TEST_CASE("a count is not less than nothing") {
  CHECK(counts(section({{0x1000, 4, 3}}, kBranch), {3, 4}) == std::vector<uint64_t>{3, 0, 4, 3});
}

TEST_CASE("counters that are missing are 0") {
  CHECK(counts(section({{0x1000, 4, 3}}, kBranch), {5}) == std::vector<uint64_t>{5, 5, 0, 5});
}

TEST_CASE("damaged tables of blocks") {
  const std::string whole = section({{0x1000, 4, 3}, {0x2000, 4, 3}}, kBranch);
  CHECK(counts(whole, {10, 3}).size() == 4);  // the second function's blocks are not there
  for (size_t size = 0; size < whole.size(); ++size)
    block_runs(BlocksSection(std::string_view(whole).substr(0, size)), {10, 3}, Listed::all);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = char(0xff);
    block_runs(BlocksSection(changed), {10, 3}, Listed::all);
  }
  // Places that the function does not have, and blocks without counters that make a circle.
  CHECK(counts(section({{0x1000, 1, 2}}, {{0, 4, 0, 7, 0}}), {1}).empty());
  const std::vector<BlockEntry> circle = {{0, 4, 1, 2, kNoCounter}, {4, 4, 2, 1, kNoCounter}, {8, 4, 0, 1, 0}};
  CHECK(counts(section({{0x1000, 3, 3}}, circle), {6}).size() == 3);
}
