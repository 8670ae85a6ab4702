#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "prof/instructions/trace/blocks.h"
#include "prof/instructions/trace/trace_reader.h"
#include "prof/instructions/trace/varint.h"
#include "trace_bytes.h"
#include "trace_fixture.h"

using namespace prof_test;
using namespace prof_format;

namespace {

// A trace as the runtime of a rewritten program writes it.
class BlocksTrace {
 public:
  explicit BlocksTrace(uint32_t flags = kTraceMemory) : bytes(bytes_of(trace_header(kTraceInlined, flags))) {}
  void add(uint16_t kind, const std::string& payload, uint8_t word_size = 0, uint64_t sequence = 0,
           uint8_t encoding = kTraceRaw, uint64_t size = 0) {
    TraceChunk chunk{};
    chunk.kind = kind;
    chunk.word_size = word_size;
    chunk.process = 10;
    chunk.thread = kind == kChunkBlocks ? 11 : 0;
    chunk.module = 1;
    chunk.sequence = kind == kChunkBlocks && sequence == 0 ? ++windows_ : sequence;
    chunk.encoding = encoding;
    chunk.size = size;
    add_chunk(bytes, chunk, payload);
  }
  void add_module() {
    TraceModule module{.start = 0x10000,
                       .end = 0x20000,
                       .offset = 0,
                       .bias = 0xf000,
                       .number = 1,
                       .path_size = 9,
                       .build_id_size = 0,
                       .reserved = 0};
    add(kChunkModule, bytes_of(module) + "/no/where");
  }
  // Block 0: mov %rax,(%rdi); push %rax; the addresses are two values. Block 1: ret, without values. Block 2: rep stosb, a
  // value each for address, count and flags. Block 3: a load from a constant address. Block 4: one of a bit, by all kinds of
  // values, and a store to an address that is not known.
  void add_table() {
    const std::string code = "\x48\x89\x07\x50\xc3\xf3\xaa\x90";
    const TraceBlock blocks[] = {{.address = 0x1000,
                                  .code = 0,
                                  .size = 4,
                                  .instructions = 2,
                                  .operands = 2,
                                  .values = 2,
                                  .flags = 0,
                                  .before = 0,
                                  .next = 0},
                                 {.address = 0x1010,
                                  .code = 4,
                                  .size = 1,
                                  .instructions = 1,
                                  .operands = 0,
                                  .values = 0,
                                  .flags = 0,
                                  .before = 0,
                                  .next = 0},
                                 {.address = 0x1020,
                                  .code = 5,
                                  .size = 2,
                                  .instructions = 1,
                                  .operands = 1,
                                  .values = 3,
                                  .flags = 0,
                                  .before = 0,
                                  .next = 0},
                                 {.address = 0x1030,
                                  .code = 7,
                                  .size = 1,
                                  .instructions = 1,
                                  .operands = 1,
                                  .values = 0,
                                  .flags = 0,
                                  .before = 0,
                                  .next = 0},
                                 {.address = 0x1040,
                                  .code = 7,
                                  .size = 1,
                                  .instructions = 1,
                                  .operands = 2,
                                  .values = 4,
                                  .flags = 0,
                                  .before = 0,
                                  .next = 0}};
    const TraceOperand operands[] = {{.instruction = 0,
                                      .size = 8,
                                      .flags = kAccessWrite,
                                      .form = 0,
                                      .base = 0,
                                      .index = kNoValue,
                                      .segment = kNoValue,
                                      .count = kNoValue,
                                      .addend = 0},
                                     {.instruction = 1,
                                      .size = 8,
                                      .flags = kAccessWrite,
                                      .form = 0,
                                      .base = 1,
                                      .index = kNoValue,
                                      .segment = kNoValue,
                                      .count = kNoValue,
                                      .addend = -8},
                                     {.instruction = 0,
                                      .size = 1,
                                      .flags = kAccessWrite | kAccessRepeated,
                                      .form = kAddressFlags,
                                      .base = 0,
                                      .index = 2,
                                      .segment = kNoValue,
                                      .count = 1,
                                      .addend = 0},
                                     {.instruction = 0,
                                      .size = 4,
                                      .flags = 0,
                                      .form = kAddressOfModule,
                                      .base = kNoValue,
                                      .index = kNoValue,
                                      .segment = kNoValue,
                                      .count = kNoValue,
                                      .addend = 0x3000},
                                     {.instruction = 0,
                                      .size = 4,
                                      .flags = 0,
                                      .form = kAddressBit | kAddressShort | 2,
                                      .base = 0,
                                      .index = 1,
                                      .segment = 2,
                                      .count = 3,
                                      .addend = 16},
                                     {.instruction = 0,
                                      .size = 1,
                                      .flags = kAccessWrite,
                                      .form = kAddressUnknown,
                                      .base = kNoValue,
                                      .index = kNoValue,
                                      .segment = kNoValue,
                                      .count = kNoValue,
                                      .addend = 0}};
    TraceBlocks head{.blocks = 5,
                     .operands = 6,
                     .code_size = code.size(),
                     .block_size = sizeof(TraceBlock),
                     .operand_size = sizeof(TraceOperand)};
    table = bytes_of(head) + bytes_of(blocks) + bytes_of(operands) + code;
    add(kChunkBlockTable, table);
  }
  void add_end() { add(kChunkEnd, bytes_of(TraceEnd{kEndExit, 0, kUnknownTotal, kUnknownTotal})); }
  // Records, one after the other.
  void add_records(const std::string& records, uint64_t sequence = 0) { add(kChunkBlocks, records, 4, sequence); }
  std::string write(const TemporaryDirectory& directory) const {
    const std::string path = directory / "trace";
    write_file(path, bytes);
    return path;
  }
  std::string bytes, table;

 private:
  uint64_t windows_ = 0;
};

// A record with its values.
std::string block(uint32_t number, const std::vector<uint64_t>& values = {}, bool is_whole = true) {
  const auto head = uint32_t(values.size()) << kRecordValuesShift | (is_whole && !values.empty() ? kRecordIsWhole : 0);
  std::string bytes = bytes_of(head | (number + 1));
  for (const uint64_t value : values) bytes += bytes_of(value);
  return bytes;
}
const std::string kNothing(12, '\0');

std::string lackey(const std::string& path) { return listed(path, {}, prof::ListingForm::lackey).text; }

constexpr char kFirst[] = "I  00010000,3\n S 00005000,8\nI  00010003,1\n S 00007ff8,8\n";

}  // namespace

TEST_CASE("blocks become instructions") {
  const TemporaryDirectory directory;
  BlocksTrace trace(0);
  trace.add_module();
  trace.add_table();
  std::string words;
  for (const uint32_t word : {2u, 2u, 0u, 2u}) words += bytes_of(word);
  trace.add(kChunkBlocks, words, 4);
  trace.add_end();
  const std::string path = trace.write(directory);
  CHECK(lackey(path) == "I  00010010,1\nI  00010010,1\nI  00010010,1\n");
  CHECK(listed(path).remarks.empty());
  CHECK(Counted(path).counts.total() == 3);
}

TEST_CASE("blocks with values become accesses") {
  const TemporaryDirectory directory;
  BlocksTrace trace;
  trace.add_module();
  trace.add_table();
  trace.add_records(block(0, {0x5000, 0x8000}) + block(1) + kNothing + block(3) + block(2, {0, 3, 0}) +
                    block(2, {0x6000, 0, 0}) + block(2, {0x6000, 2, kDirectionFlag}) + block(1) + kNothing);
  trace.add_end();
  const std::string path = trace.write(directory);
  CHECK(lackey(path) == std::string(kFirst) +
                            "I  00010010,1\nI  00010030,1\n L 00012000,4\n"
                            "I  00010020,2\n S 00000000,1\n S 00000001,1\n S 00000002,1\nI  00010020,2\n"
                            "I  00010020,2\n S 00006000,1\n S 00005fff,1\nI  00010010,1\n");
  CHECK(listed(path).remarks.empty());
}

TEST_CASE("the address of an access is made of all kinds of values") {
  const TemporaryDirectory directory;
  BlocksTrace trace;
  trace.add_module();
  trace.add_table();
  // Base, index (4 times), base of the segment, number of the bit. Without a base of the segment nothing is known.
  trace.add_records(block(4, {0xfffffff8, 2, 0x700000000000, uint64_t(-1)}) + block(4, {8, 2, 0, 0}));
  trace.add_end();
  const Listed all = listed(trace.write(directory), {}, prof::ListingForm::lackey);
  CHECK(all.text == "I  00010040,1\n L 70000000000c,4\nI  00010040,1\n");
  REQUIRE(all.remarks.size() == 1);
  CHECK(all.remarks[0].starts_with("lacks the addresses of some accesses"));
}

TEST_CASE("a record may be read in two pieces, and does not go on after its window") {
  const TemporaryDirectory directory;
  BlocksTrace trace;
  trace.add_module();
  trace.add_table();
  std::string records;
  while (records.size() < (1 << 20) - 12) records += block(1);
  trace.add_records(records + block(0, {0x5000, 0x8000}) + block(1));
  trace.add_end();
  const Counted counted(trace.write(directory));
  CHECK(counted.counts.total() == (1 << 18) - 3 + 3);
  BlocksTrace torn;
  torn.add_module();
  torn.add_table();
  torn.add_records(block(0, {0x5000, 0x8000}).substr(0, 16));
  torn.add_end();
  CHECK(listed(torn.write(directory)).remarks[0] ==
        "is damaged (a record goes on past its window); only what comes before that is shown");
}

TEST_CASE("a block that never gets its values is told") {
  const TemporaryDirectory directory;
  BlocksTrace trace;
  trace.add_module();
  trace.add_table();
  trace.add_records(block(0, {0x5000, 0}, false) + block(1));
  trace.add_end();
  const Listed all = listed(trace.write(directory), {}, prof::ListingForm::lackey);
  CHECK(all.text == "I  00010000,3\nI  00010003,1\nI  00010010,1\n");
  REQUIRE(all.remarks.size() == 1);
  CHECK(all.remarks[0].starts_with("lacks some addresses"));
}

TEST_CASE("windows of a ring are read in their order") {
  const TemporaryDirectory directory;
  BlocksTrace trace(kTraceMemory | kTraceRing);
  trace.add_module();
  trace.add_table();
  trace.add_records(block(1), 6);
  trace.add_records(block(3), 5);
  trace.add_end();
  const Listed all = listed(trace.write(directory), {}, prof::ListingForm::lackey);
  CHECK(all.text == "I  00010030,1\n L 00012000,4\nI  00010010,1\n");
  CHECK(all.is_partial);
}

TEST_CASE("windows that were written after the file and begun again are read once, in their order") {
  const TemporaryDirectory directory;
  BlocksTrace trace;
  trace.add_module();
  trace.add_table();
  trace.add_records(block(0, {0x5000, 0x8000}) + block(1), 3);  // a window, of which 3 is being written
  trace.add(kChunkBlocks, block(1) + kNothing, 4, 0);           // not begun again yet, though that stands there still
  trace.bytes.replace(trace.bytes.rfind(block(1)) - 8, 8, bytes_of(uint64_t(0)));
  trace.add_records(block(1), 2);
  trace.add_records(block(3), 1);
  const std::string before = trace.bytes;
  trace.add_records(block(0, {0x5000, 0x8000}), 3);
  const std::string text = "I  00010030,1\n L 00012000,4\nI  00010010,1\n" + std::string(kFirst) + "I  00010010,1\n";
  const std::string killed = "has no end: the program still runs, or was killed";
  for (size_t size : {trace.bytes.size(), trace.bytes.size() - 8, before.size() + sizeof(TraceChunk)}) {
    trace.bytes.resize(size);
    const Listed all = listed(trace.write(directory), {}, prof::ListingForm::lackey);
    CHECK(all.text == text);
    CHECK(all.remarks == std::vector<std::string>{killed});
  }
}

TEST_CASE("in a trace of version 1 each thread numbers its windows, and each number is read as often as it occurs") {
  const TemporaryDirectory directory;
  BlocksTrace trace;
  trace.bytes.replace(offsetof(TraceHeader, version), sizeof(uint32_t), bytes_of(uint32_t(1)));
  trace.add_module();
  trace.add_table();
  trace.add_records(block(0, {0x5000, 0x8000}), 2);
  trace.add_records(block(1), 1);
  trace.add_records(block(1), 1);
  const Listed all = listed(trace.write(directory), {}, prof::ListingForm::lackey);
  CHECK(all.text == std::string(kFirst) + "I  00010010,1\nI  00010010,1\n");
}

TEST_CASE("packed records are unpacked") {
  const std::string four = block(3, {1, 2, 3, 0x123456789abcdef0}), one = block(1);
  std::string packed = "\x2b" + four.substr(0, 4);  // the word follows; three values of one byte
  packed += "\x01\x02\x03\x03" + four.substr(28, 8);
  packed += "\x01" + one + "\x01" + four.substr(0, 4) + std::string("\0", 1);  // the same values
  packed += std::string("\0", 1);                                              // the word that followed
  packed += std::string("\x30\x00\x01\xff\x01\xff", 6);  // so here; differences of two bytes, one, and one
  const std::string last = block(3, {1, 2 + 0x100, 3 - 1, 0x123456789abcdef0 - 1});
  const std::string records = four + one + four + one + last;
  CHECK(prof::unpacked_records(packed, records.size()) == records);
  CHECK_THROWS_AS(prof::unpacked_records(packed, records.size() - 1), prof::DamagedTrace);
  CHECK_THROWS_AS(prof::unpacked_records(packed, records.size() + 1), prof::DamagedTrace);
  CHECK_THROWS_AS(prof::unpacked_records(std::string("\0", 1), 4), prof::DamagedTrace);  // a word that never came
  CHECK_THROWS_AS(prof::unpacked_records(packed, kMaxChunkBytes + 1), prof::DamagedTrace);

  const TemporaryDirectory directory;
  BlocksTrace trace;
  trace.add_module();
  trace.add_table();
  const std::string whole = block(0, {0x5000, 0x8000});
  trace.add(kChunkBlocks, "\x1d" + whole.substr(0, 4) + std::string("\x00\x50", 2) + whole.substr(12, 8), 4, 1,
            kTracePacked, whole.size());
  CHECK(lackey(trace.write(directory)) == kFirst);
}

TEST_CASE("a program that was killed leaves a whole trace") {
  const TemporaryDirectory directory;
  BlocksTrace trace;
  trace.add_module();
  trace.add_table();
  trace.add_records(block(1));
  const Listed all = listed(trace.write(directory));
  CHECK_FALSE(all.is_partial);
  CHECK(all.remarks == std::vector<std::string>{"has no end: the program still runs, or was killed"});
}

TEST_CASE("tables of blocks that cannot be are refused") {
  BlocksTrace trace;
  trace.add_table();
  const auto refuses = [&](size_t offset, uint64_t value) {
    std::string bytes = trace.table;
    bytes.replace(offset, 8, bytes_of(value));
    CHECK_THROWS_AS(prof::BlockTable{bytes}, prof::DamagedTrace);
  };
  prof::BlockTable{trace.table};
  refuses(0, UINT64_MAX);                                    // blocks
  refuses(8, 1);                                             // operands
  refuses(16, 100);                                          // code
  refuses(sizeof(TraceBlocks) + 8, 7);                       // where a block's code is
  refuses(sizeof(TraceBlocks) + 16, 4);                      // its instructions: none
  refuses(sizeof(TraceBlocks) + 24, 2 | uint64_t(1) << 32);  // its values
  refuses(sizeof(TraceBlocks) + 5 * sizeof(TraceBlock), 7);  // the instruction of an operand
  CHECK_THROWS_AS(prof::BlockTable(trace.table.substr(0, trace.table.size() - 1)), prof::DamagedTrace);
}

TEST_CASE("ways between blocks that cannot be are refused") {
  const auto table = [](const std::vector<TraceBlock>& blocks, const std::vector<uint32_t>& ways) {
    const TraceBlocks head{.blocks = blocks.size(),
                           .operands = 0,
                           .code_size = 1,
                           .block_size = sizeof(TraceBlock),
                           .operand_size = sizeof(TraceOperand)};
    std::string bytes = bytes_of(head);
    for (const TraceBlock& block : blocks) bytes += bytes_of(block);
    for (const uint32_t way : ways) bytes += bytes_of(way);
    return prof::BlockTable(bytes + "\x90");
  };
  const auto block = [](uint16_t flags, uint32_t before, uint32_t next) {
    TraceBlock b{};
    b.size = b.instructions = 1;
    b.flags = flags;
    b.before = before;
    b.next = next;
    return b;
  };
  CHECK_THROWS_AS(table({block(kBlockWrites, 0, 1)}, {1}), prof::DamagedTrace);         // leads nowhere
  CHECK_THROWS_AS(table({block(kBlockWrites, 0, 1u << 31)}, {0}), prof::DamagedTrace);  // so many there are not
  CHECK_THROWS_AS(table({block(0, 2, 0), block(0, 1, 0)}, {}), prof::DamagedTrace);     // each before the other
  CHECK_THROWS_AS(table({block(kBlockWrites, 2, 0)}, {}), prof::DamagedTrace);          // after one that is not there
  const prof::BlockTable circle = table({block(kBlockWrites, 0, 1), block(0, 0, 1)}, {1, 1});
  const prof::BlockTable two = table({block(kBlockWrites, 0, 2), block(0, 0, 1), block(kBlockWrites, 0, 0)}, {1, 2, 2});
  for (const prof::BlockTable* damaged : {&circle, &two}) {
    prof::BlockWays ways(*damaged);
    prof::BlockSequence sequence(ways);
    std::vector<uint32_t> ran;
    sequence.write(0, ran);
    CHECK_THROWS_AS(sequence.write(0, ran), prof::DamagedTrace);
  }
}

TEST_CASE("blocks that no table tells of are damage") {
  const TemporaryDirectory directory;
  BlocksTrace trace;
  trace.add_module();
  trace.add_records(block(1));
  CHECK(listed(trace.write(directory)).remarks[0] ==
        "is damaged (blocks ran that no table tells of); only what comes before that is shown");
  BlocksTrace other;
  other.add_module();
  other.add_table();
  other.add_records(block(1) + block(9));
  const Listed part = listed(other.write(directory), {}, prof::ListingForm::lackey);
  CHECK(part.text == "I  00010010,1\n");
  CHECK(part.remarks[0] == "is damaged (a block ran that there is not); only what comes before that is shown");
}
