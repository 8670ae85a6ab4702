// What a trace of blocks does not tell, or not for certain, its reader says.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "prof/instructions/trace/blocks.h"
#include "prof/instructions/trace/varint.h"
#include "trace_bytes.h"
#include "trace_fixture.h"

using namespace prof_test;
using namespace prof_format;

namespace {

struct TableBlock {
  uint16_t flags;
  std::vector<uint32_t> next;
};

// Each has one instruction.
std::string table_of(const std::vector<TableBlock>& blocks) {
  std::string bytes = bytes_of(TraceBlocks{.blocks = blocks.size(),
                                           .operands = 0,
                                           .code_size = 1,
                                           .block_size = sizeof(TraceBlock),
                                           .operand_size = sizeof(TraceOperand)}),
              ways;
  for (const TableBlock& b : blocks) {
    TraceBlock block{};
    block.address = 0x1000 + uint64_t(&b - blocks.data());
    block.size = block.instructions = 1;
    block.flags = b.flags;
    block.next = uint32_t(b.next.size());
    bytes += bytes_of(block);
    for (const uint32_t to : b.next) ways += bytes_of(to);
  }
  return bytes + ways + "\x90";
}

// 0 -> 2 -> 4, and 1 -> 3 -> 5 -> 4, of which 2, 3 and 5 write nothing. 6 is a handler; 0 and 1 may be called.
enum : uint32_t { kOne, kOther = 1, kMeeting = 4, kHandler = 6 };
std::string table() {
  constexpr uint16_t kCalled = kBlockWrites | kBlockFromOutside;
  return table_of({{kCalled, {2}},
                   {kCalled, {3}},
                   {0, {4}},
                   {0, {5}},
                   {kBlockWrites | kBlockToldByWays, {}},
                   {0, {4}},
                   {kCalled, {}}});
}

struct Remarks {
  explicit Remarks(const std::vector<uint32_t>& blocks, uint32_t flags = 0, bool is_packed = false) {
    std::string trace = bytes_of(trace_header(kTraceInlined, flags));
    const auto add = [&](TraceChunk chunk, const std::string& payload) { add_chunk(trace, chunk, payload); };
    TraceChunk chunk{};
    chunk.module = 1;
    chunk.kind = kChunkBlockTable;
    add(chunk, table());
    chunk.kind = kChunkBlocks;
    chunk.word_size = sizeof(uint32_t);
    chunk.thread = 11;
    chunk.sequence = 1;
    std::string words;
    for (const uint32_t block : blocks) words += (is_packed ? "\x01" : "") + bytes_of(block + 1);
    if (is_packed) {
      chunk.encoding = kTracePacked;
      chunk.size = blocks.size() * sizeof(uint32_t);
    }
    add(chunk, words);
    chunk = {};
    chunk.kind = kChunkEnd;
    add(chunk, bytes_of(TraceEnd{kEndExit, 0, kUnknownTotal, kUnknownTotal}));
    const TemporaryDirectory directory;
    write_file(directory / "trace", trace);
    const Counted counted(directory / "trace");
    total = counted.counts.total();
    remarks = counted.reader.remarks();
    is_partial = counted.reader.is_partial();
  }
  // The only remark begins so.
  bool is(const std::string& begin) const { return remarks.size() == 1 && remarks[0].starts_with(begin); }
  uint64_t total = 0;
  std::vector<std::string> remarks;
  bool is_partial = false;
};

}  // namespace

TEST_CASE("code that a handler came to goes on, and nothing is in doubt") {
  const Remarks told({kOne, kHandler, kMeeting});
  CHECK(told.total == 4);
  CHECK(told.remarks.empty());
  const Remarks both({kOne, kHandler, kHandler, kMeeting, kOther, kHandler, kMeeting});
  CHECK(both.total == 3 + 2 + 4 + 1);
  CHECK(both.remarks.empty());
}

TEST_CASE("how many instructions may be others is said where several may go on") {
  // Not the other one goes on, perhaps, but it was left for good, and the one does.
  const Remarks told({kOne, kHandler, kOther, kHandler, kMeeting, kMeeting});
  CHECK(told.total == 6 + 2 + 1);
  REQUIRE(!told.remarks.empty());
  CHECK(told.remarks[0].starts_with("may have 4 instructions that are others"));
}

TEST_CASE("code that did not go on is said to lack its end") {
  const Remarks left({kOne, kHandler, kOther, kMeeting});
  CHECK(left.total == 6);
  CHECK(left.is("may lack the last instructions of code that did not go on, in 1 place"));
  CHECK(left.is_partial);
  CHECK(Remarks({kHandler, kOther}).is("may lack the last instructions of code that did not go on, in 1 place"));
}

TEST_CASE("what ran before words is missing where they do not tell it") {
  const std::string lacks = "lacks some instructions in between";
  CHECK(Remarks({kHandler, kMeeting, kHandler}).is(lacks));
  CHECK(Remarks({kHandler, kMeeting, kHandler}, kTraceMemory, true).is(lacks));
  CHECK(Remarks({kMeeting, kHandler}).is(lacks));  // a child that a handler forked
  CHECK(Remarks({kMeeting, kHandler}, kTraceRing).is("has only the last"));
}

TEST_CASE("after words that are not to be had, nothing is taken for what comes next") {
  const prof::BlockTable blocks(table());
  uint64_t ran = 0;
  prof::BlockWays ways(blocks);
  prof::BlocksDecoder decoder(ways, [&](uint64_t, std::span<const uint64_t>) { ++ran; });
  const auto write = [&](uint32_t block) { decoder.words(bytes_of(block + 1), sizeof(uint32_t)); };
  write(kOne);
  decoder.leave_window();
  write(kMeeting);
  CHECK(ran == 2);
  CHECK(decoder.sequence().has_gaps());
}

TEST_CASE("a way has an end") {
  const auto follow = [](uint32_t silent) {
    std::vector<TableBlock> blocks{{kBlockWrites, {1}}};
    for (uint32_t i = 1; i <= silent; ++i) blocks.push_back({0, {i + 1}});
    blocks.push_back({kBlockWrites, {}});
    const prof::BlockTable table(table_of(blocks));
    prof::BlockWays ways(table);
    prof::BlockSequence sequence(ways);
    std::vector<uint32_t> ran;
    sequence.write(0, ran);
    sequence.write(silent + 1, ran);
    return ran.size();
  };
  CHECK(follow(kMaxBlocksBefore) == kMaxBlocksBefore);
  CHECK_THROWS_AS(follow(kMaxBlocksBefore + 1), prof::DamagedTrace);
}
