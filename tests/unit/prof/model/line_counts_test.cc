// Counts of lines from counts of blocks: what gcov says of the same.

#include "prof/model/blocks/line_counts.h"

#include <doctest/doctest.h>

#include <string>

#include "prof/read/instructions.h"

namespace {

using prof::BlockCount;
using prof::LineCounts;

constexpr uint64_t kEntry = 0x1000;

// Code of one file, and the lines that it was made of.
struct Code {
  std::string bytes;
  prof::LineTable table{{}, {"/a.c"}};
  std::vector<BlockCount> blocks;

  Code& line(uint32_t number) {
    line_ = number;
    return *this;
  }
  Code& block(uint64_t count) {
    blocks.push_back({0, here(), 0, count});
    return *this;
  }
  Code& add(const std::string& code) {
    const uint64_t start = here();
    bytes += code;
    blocks.back().size += uint32_t(code.size());
    auto& ranges = table.ranges;
    if (!ranges.empty() && ranges.back().line == line_)
      ranges.back().end = here();
    else
      ranges.push_back({start, here(), 0, line_});
    return *this;
  }
  uint64_t here() const { return kEntry + bytes.size(); }

  prof::FlowGraph graph() const {
    return prof::flow_graph(blocks, {}, kEntry,
                            [&](uint64_t address, uint64_t size) { return bytes.substr(address - kEntry, size); });
  }
  std::map<uint32_t, uint64_t> counts(const LineCounts::Declared& declared = {}) const {
    LineCounts counts;
    counts.add(
        graph(), table, [](uint32_t file) { return file; }, declared);
    std::map<uint32_t, uint64_t> found;
    for (const auto& [line, count] : counts.counts()) found[line.second] = count.count;
    return found;
  }

 private:
  uint32_t line_ = 0;
};

const std::string kNop = "\x90", kRet = "\xc3", kPop = "\x5d", kStore = std::string("\xc7\x45\xfc\0\0\0\0", 7);
const std::string kCall = std::string("\xe8\0\0\x01\0", 5);  // to another function
std::string jump(int8_t by) { return std::string("\xeb") + char(by); }
std::string branch(int8_t by) { return std::string("\x75") + char(by); }

using Counts = std::map<uint32_t, uint64_t>;

}  // namespace

TEST_CASE("instructions: how they pass control on, and how they are written") {
  const std::string code = kStore + kCall + branch(-2) + jump(4) + std::string("\xff\x15\x10\0\0\0", 6) + "\x06" + kRet;
  const std::vector<prof::Instruction> found = prof::decode_instructions(code, kEntry);
  REQUIRE(found.size() == 7);
  using prof::Transfer;
  const Transfer transfers[] = {Transfer::none,          Transfer::call, Transfer::branch, Transfer::jump,
                                Transfer::call_indirect, Transfer::none, Transfer::ret};
  for (size_t i = 0; i < found.size(); ++i) CHECK(found[i].transfer == transfers[i]);
  CHECK(found[1].target == kEntry + 12 + 0x10000);
  CHECK(found[2].target == kEntry + 12);
  CHECK(found[4].memory == kEntry + 22 + 0x10);
  CHECK_FALSE(found[4].target);
  CHECK_FALSE(found[5].is_known);
  CHECK(prof::text_of(found[0], code) == "movl $0x0, -0x4(%rbp)");
  CHECK(prof::text_of(found[4], std::string_view(code).substr(16)) == "call *0x10(%rip)");
  CHECK(prof::text_of(found[5], "\x06") == "(bad)");
  CHECK(prof::decode_instructions("", kEntry).empty());
  CHECK_FALSE(prof::decode_instructions("\xe8", kEntry)[0].is_known);
}

TEST_CASE("a line within blocks ran as often as they, one between blocks as often as control came to it") {
  // for (...) { if (...) a; else b; }
  Code code;
  code.block(1).line(1).add(kStore).line(2).add(kStore).add(jump(14));  // to the condition
  code.block(10).line(3).add(kNop).add(branch(3));
  code.block(4).line(4).add(kNop).add(jump(1));
  code.block(6).line(5).add(kNop);
  code.block(10).line(2).add(kStore);
  code.block(11).add(branch(-16));
  code.block(1).line(6).add(kRet);
  CHECK(code.counts() == Counts{{1, 1}, {2, 11}, {3, 10}, {4, 4}, {5, 6}, {6, 1}});
  for (const prof::FlowArc& arc : code.graph().arcs) CHECK(arc.is_exact);
}

TEST_CASE("a line that control goes round in counts each round") {
  Code code;  // while (f()) g();
  code.block(1).line(1).add(kStore);
  code.block(1).line(2).add(jump(5));
  code.block(7).add(kCall);
  code.block(8).add(kCall).add(branch(-12));
  code.block(1).line(3).add(kRet);
  CHECK(code.counts() == Counts{{1, 1}, {2, 8}, {3, 1}});
}

TEST_CASE("a call that is written in two lines counts where it comes back to the first, as with gcov") {
  Code code;  // f(g(), <newline> h());
  code.block(3).line(1).add(kCall).line(2).add(kCall).line(1).add(kCall).line(3).add(kRet);
  CHECK(code.counts() == Counts{{1, 6}, {2, 3}, {3, 3}});
}

TEST_CASE("calls that do not come back") {
  Code code;
  code.block(5).line(1).add(kCall);
  code.block(2).line(2).add(kStore).line(3).add(kRet);
  CHECK(code.counts() == Counts{{1, 5}, {2, 2}, {3, 2}});
  Code twice;  // setjmp
  twice.block(1).line(1).add(kCall);
  twice.block(2).add(branch(1));
  twice.block(1).line(2).add(kNop);
  twice.block(2).line(3).add(kRet);
  CHECK(twice.counts() == Counts{{1, 1}, {2, 1}, {3, 2}});
}

TEST_CASE("the beginning and the end of a function") {
  Code code;
  code.block(4).line(2).add(kStore).line(3).add(kCall).line(4).add(kStore).line(5).add(kPop).add(kRet);
  LineCounts::Declared declared;
  CHECK(code.counts(declared) == Counts{{2, 4}, {3, 4}, {4, 4}, {5, 4}});
  declared.at = {0, 1};
  declared.has_result = true;
  declared.labels.push_back({kEntry + 12, {0, 7}});
  CHECK(code.counts(declared) == Counts{{1, 4}, {3, 4}, {4, 4}, {7, 4}});
}

TEST_CASE("a jump back that has the line it leads to") {
  Code code;  // for (;; ++n) { switch ... }
  code.block(1).line(1).add(kStore);
  code.block(5).line(2).add(kNop).add(branch(9));
  code.block(4).line(1).add(kStore).line(2).add(jump(-12));
  code.block(1).line(3).add(kRet);
  CHECK(code.counts() == Counts{{1, 5}, {2, 5}, {3, 1}});
}

TEST_CASE("counts that blocks do not tell are marked") {
  Code code;  // two blocks that both lead to the same two
  code.block(10).line(1).add(branch(5));
  code.block(5).add(branch(5));
  code.block(5).add(kNop).add(jump(3));
  code.block(5).add(branch(-5));
  code.block(5).add(kNop);
  code.block(10).line(2).add(kRet);
  LineCounts counts;
  counts.add(code.graph(), code.table, [](uint32_t file) { return file; }, {});
  CHECK_FALSE(counts.counts().at({0, 1}).is_exact);
  CHECK(counts.counts().at({0, 1}).count == 10);
  CHECK(counts.counts().at({0, 2}).is_exact);
}

TEST_CASE("an indirect jump does not lead to the check in front of it, but may lead to where that leads") {
  Code code;
  code.line(1).block(100).add(kStore).line(2).add(branch(11));
  code.block(60).add("\xff\xe0");  // jmp *%rax: 20 times to the case, 40 times to the default
  code.line(3).block(20).add(kStore).add(jump(0));
  code.line(4).block(100).add(kRet);
  CHECK(code.counts() == Counts{{1, 100}, {2, 100}, {3, 20}, {4, 100}});
}

TEST_CASE("damaged counts: code that is not there, blocks that overlap") {
  Code code;
  code.block(3).line(1).add(kNop);
  code.blocks[0].size = 500;
  code.blocks.push_back({0, kEntry, 1, UINT64_MAX});
  CHECK(code.counts().at(1) > 0);
}

TEST_CASE("labels of switch statements in a source") {
  const std::vector<std::string> text = {
      "switch (n) {",         // 1
      "  case 1:",            // 2
      "  case 'x': {  // y",  // 3
      "    int n;",           // 4
      "    f();",             // 5
      "#ifdef OTHER",         // 6
      "  case 2:",            // 7
      "    g();",             // 8
      "#endif",               // 9
      "  /* case 3: */",      // 10
      "  default:",           // 11
      "    /* then",          // 12
      "    case 4: */",       // 13
      "    h();",             // 14
      "  case_ = 3 ? 2 : 1;"  // 15
  };
  const auto found = prof::case_labels(text, [](uint32_t line) { return line == 1 || line == 5 || line == 14; });
  CHECK(found == std::map<uint32_t, uint32_t>{{2, 5}, {3, 5}, {11, 14}});
}
