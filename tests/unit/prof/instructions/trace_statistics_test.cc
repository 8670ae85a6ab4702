#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "prof/instructions/statistics/memory_statistics.h"
#include "prof/instructions/statistics/statistics_tables.h"
#include "tests/unit/prof_printed.h"
#include "trace_fixture.h"

using namespace prof_test;
using namespace prof_format;
using prof::InstructionKind;
using prof::TraceAccess;
using prof::TraceWriter;

namespace {

// An indirect jump that leads to two places in turn, each of which jumps back.
std::string write_jumps(const std::string& path, unsigned rounds) {
  TraceWriter writer(path, {});
  for (unsigned i = 0; i < rounds; ++i) {
    writer.step(kThread, 0x1000, "\xff\x27", std::vector<TraceAccess>{load(0x5000 + i % 2 * 64, 8)});  // jmp *(%rdi)
    const uint64_t target = i % 2 ? 0x2000 : 0x3000;
    writer.step(kThread, target, "\x66\x0f\xef\xc0", {});  // pxor
    writer.step(kThread, target + 4, "\xeb\x10", {});
  }
  writer.end(kEndExit, 0);
  return path;
}

std::string csv_of(Counted& counted, const prof::MemoryStatistics& memory) {
  prof::TraceSummary summary;
  summary.instructions = counted.counts.total();
  return printed([&](prof::Output& out) {
    print_statistics_csv(summary, statistics_tables(counted.counts, memory, counted.names, true), out);
  });
}

}  // namespace

TEST_CASE("targets of indirect jumps are counted") {
  const TemporaryDirectory directory;
  const Counted counted(write_jumps(directory / "trace", 7));
  CHECK(counted.counts.total() == 21);
  const prof::CountedInstruction jump = counted.at(0x1000);
  CHECK(jump.is_indirect());
  CHECK(jump.executions == 7);
  CHECK(jump.loads == 7);
  REQUIRE(jump.targets.size() == 2);
  std::map<uint64_t, uint64_t> targets;
  for (const auto& [index, times] : jump.targets) targets[counted.counts.instructions()[index].address] = times;
  CHECK(targets == std::map<uint64_t, uint64_t>{{0x2000, 3}, {0x3000, 4}});
  CHECK(counted.at(0x2000).kind == InstructionKind::vector);
}

TEST_CASE("kinds of instructions") {
  const auto kind = [](std::string_view code) { return prof::kind_of_instruction(code); };
  CHECK(kind("\x48\x89\xc3") == InstructionKind::move);
  CHECK(kind("\x48\x01\xc3") == InstructionKind::arithmetic);
  CHECK(kind("\x48\x85\xc0") == InstructionKind::logic);
  CHECK(kind("\xf0\x48\x01\x03") == InstructionKind::atomic);
  CHECK(kind("\x55") == InstructionKind::stack);
  CHECK(kind("\x74\x02") == InstructionKind::branch);
  CHECK(kind(std::string_view("\xe8\x00\x00\x00\x00", 5)) == InstructionKind::call);
  CHECK(kind("\xc5\xf8\x28\xc1") == InstructionKind::vector);
  CHECK(kind("\xf2\x0f\x58\xc1") == InstructionKind::vector);
  CHECK(kind("\xd9\xc0") == InstructionKind::floating);
  CHECK(kind("\xf3\xa4") == InstructionKind::string);
  CHECK(kind("\x0f\x05") == InstructionKind::system);
  CHECK(kind("\x06") == InstructionKind::unknown);
}

TEST_CASE("tables of statistics") {
  const TemporaryDirectory directory;
  const std::string path = write_jumps(directory / "trace", 4);
  Counted counted(path);
  prof::MemoryOptions options;
  options.window = 6;
  options.with_reuse = true;
  options.caches.emplace();
  prof::MemoryStatistics memory(options);
  prof::TraceReader reader(path);
  reader.read(memory);
  memory.finish();
  const std::string csv = csv_of(counted, memory);
  const auto has = [&](const char* line) {
    INFO(line);
    CHECK(csv.find(std::string("\n") + line + "\n") != std::string::npos);
  };
  has("functions,12,100.00,4,0,[unknown],[unknown]");
  has("mix,4,33.33,0,0,\"SSE, AVX and the like\"");
  has("targets,2,50.00,[unknown],0x1000,[unknown] 0x1000,0x3000,[unknown] 0x3000,[unknown] 0x1000 -> [unknown] 0x3000");
  has("regions,4,33.33,4,2,[unknown],0x1000,[unknown] 0x1000");
  has("working-set,3,3,1,2,6,0,0-5");
  has("working-set,3,3,1,2,6,6,6-11");
  has("reuse,2,50.00,1,1,1");
  has("reuse,2,50.00,0,0,first touch");
  has("cache,12,3,25.00,3,25.00,instructions");
  has("cache,4,2,50.00,2,50.00,loads");
}

TEST_CASE("a cache keeps what was used last") {
  prof::Cache cache({256, 2, 64});  // two sets of two lines
  CHECK_FALSE(cache.touch(0, 4));
  CHECK(cache.touch(60, 4));
  CHECK_FALSE(cache.touch(60, 8));   // the next line as well
  CHECK_FALSE(cache.touch(128, 4));  // the set of line 0
  CHECK(cache.touch(0, 4));
  CHECK_FALSE(cache.touch(256, 4));  // 128 goes
  CHECK(cache.touch(0, 4));
  CHECK_FALSE(cache.touch(128, 4));
  CHECK(std::string(prof::problem_of({256, 2, 64})).empty());
  CHECK(!std::string(prof::problem_of({256, 3, 64})).empty());
  CHECK(!std::string(prof::problem_of({384, 2, 64})).empty());
  CHECK(!std::string(prof::problem_of({0, 2, 64})).empty());
  CHECK(!std::string(prof::problem_of({256, 2, 48})).empty());
}

TEST_CASE("reuse distances are those that a list of lines has") {
  prof::ReuseDistances distances;
  std::vector<uint64_t> list;  // the line used last is at the end
  std::array<uint64_t, 64> expected = {};
  uint64_t first = 0;
  std::minstd_rand random(1);
  for (unsigned i = 0; i < 30'000; ++i) {
    const uint64_t line = random() % 4 ? random() % 16 : random() % 3000;
    const auto at = std::find(list.rbegin(), list.rend(), line);
    if (at == list.rend()) {
      ++first;
    } else {
      ++expected[size_t(std::bit_width(uint64_t(at - list.rbegin())))];
      list.erase(std::next(at).base());
    }
    list.push_back(line);
    distances.touch(line);
  }
  CHECK(distances.counts() == expected);
  CHECK(distances.first_touches() == first);
}
