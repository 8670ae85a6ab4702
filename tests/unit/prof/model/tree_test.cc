#include "prof/model/tree/tree.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "prof/model/analysis/analysis.h"
#include "prof/read/error.h"
#include "tests/unit/prof_analysed.h"
#include "tests/unit/prof_fixture.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;
using prof::Analysis;

namespace {

using Run = AnalysedRun;

std::string text(const Analysis& a) { return text_of(a.tree, a.functions); }

}  // namespace

TEST_CASE("inclusive times are sums of self times, siblings stand in order of first call") {
  Run run;
  const Block a = run.call(0, 'a', 1, 100);
  const Block b = run.call(a, 'b', 2, 20);
  run.call(a, 'c', 3, 30);
  run.call(b, 'd', 4, 4);
  CHECK(text(run.analyse()) == "a:1:100:154(b:2:20:24(d:4:4:4) c:3:30:30)");
}

TEST_CASE("siblings that occur twice are one node") {
  Run run;
  const Block a = run.call(0, 'a', 1, 100);
  const Block b = run.call(a, 'b', 2, 20);
  const Block again = run.call(a, 'b', 3, 30);
  run.call(b, 'c', 1, 1);
  run.call(again, 'd', 1, 2);
  run.call(again, 'c', 1, 3);
  CHECK(text(run.analyse()) == "a:1:100:156(b:5:50:56(c:2:4:4 d:1:2:2))");
}

TEST_CASE("the trees of threads are laid over each other, the oldest thread first") {
  Run run;
  run.call(0, 'a', 1, 100);
  run.thread = run.writer.add_thread(2);
  run.call(0, 'b', 1, 10);
  run.call(0, 'a', 2, 200);
  CHECK(text(run.analyse()) == "a:3:300:300 b:1:10:10");
}

TEST_CASE("several profiles of a program are summed") {
  Run run;
  run.call(0, 'a', 1, 100);
  run.writer.write(run.dir / "prof.1");
  run.call(0, 'b', 1, 10);
  run.writer.write(run.dir / "prof.2");
  prof::Input input;
  input.profiles = {run.dir / "prof.1", run.dir / "prof.2"};
  const Analysis a = prof::analyse(input);
  CHECK(text(a) == "a:2:200:200 b:1:10:10");
  CHECK(a.complete);

  // Made on a machine whose time stamps tick at half the speed: its cycles are twice as long.
  run.writer.header().ns_last = run.writer.header().ns_end = 1'000 + 2 * (kEnd - kStart);
  run.writer.write(run.dir / "prof.2");
  CHECK(text(prof::analyse(input)) == "a:2:300:300 b:1:20:20");
}

TEST_CASE("profiles of other programs or types are not summed") {
  Run run;
  run.call(0, 'a', 1, 100);
  run.writer.write(run.dir / "prof.1");
  prof::Input input;
  input.profiles = {run.dir / "prof.1", run.dir / "prof.2"};
  ProfileWriter other;
  other.add_module("/bin/other", "else", 0, 0, 0x1000);
  other.write(run.dir / "prof.2");
  CHECK_THROWS_WITH_AS(prof::analyse(input), doctest::Contains("of another program"), prof::Error);
  run.writer.header().type = prof_format::kCount;
  run.writer.write(run.dir / "prof.2");
  CHECK_THROWS_WITH_AS(prof::analyse(input), doctest::Contains("different PROFTYPEs; name profiles of one PROFTYPE"),
                       prof::Error);
}

TEST_CASE("the function that was running when the file was written last is charged up to then") {
  Run run;
  run.writer.header().flags = 0;
  run.writer.header().pid = run.writer.thread(run.thread).tid = 4000000;  // more than the kernel ever gives out
  run.writer.header().tsc_last = run.writer.header().tsc_end = kStart + 5'000;
  run.writer.thread(run.thread).last_tsc = kStart + 1'000;
  const Block a = run.call(0, 'a', 1, 100);
  const Block b = run.call(a, 'b', 7, 20);  // in earlier calls; entered last at kStart + 1000
  run.writer.add_stack(run.thread, {{a}, {b}});
  const Analysis analysis = run.analyse();
  const std::string said = lines(analysis.remarks);
  CHECK(text(analysis) == "a:1:100:4120(b:7:4020:4020)");
  CHECK_FALSE(analysis.complete);
  CHECK(said.find("did not end by exit") != std::string::npos);
}

TEST_CASE("a thread's time on a processor is known up to its own last stamp, whether it has ended or still runs") {
  constexpr uint64_t kSoon = 10'000'000;  // after the machine was started
  Run run;
  prof_format::Header& h = run.writer.header();
  h.type = prof_format::kCpu;
  h.tsc_start = kSoon;
  h.tsc_last = h.tsc_end = kSoon + (kEnd - kStart);
  h.pid = 4000000;  // more than the kernel ever gives out
  run.writer.thread(run.thread).tid = 4000000;
  run.writer.thread(run.thread).tsc_start = kSoon;
  run.writer.thread(run.thread).last_tsc = kSoon + 5'000;
  const Block a = run.call(0, 'a', 1, 100);
  const Block b = run.call(a, 'b', 7, 4'020);
  run.writer.add_stack(run.thread, {{a}, {b}});
  Analysis analysis = run.analyse();
  CHECK(text(analysis) == "a:1:100:4120(b:7:4020:4020)");
  CHECK(analysis.complete);
  CHECK(analysis.timed());
  CHECK(analysis.on_processor());
  CHECK_FALSE(analysis.estimated());
  CHECK(analysis.duration == kEnd - kStart);

  be_this_process(run.writer.header());
  run.writer.thread(run.thread).tid = uint32_t(getpid());
  analysis = run.analyse();
  const std::string said = lines(analysis.remarks);
  CHECK(text(analysis) == "a:1:100:4120(b:7:4020:4020)");
  CHECK(said.find("still running") != std::string::npos);
  // Elapsed time goes on until now.
  run.writer.header().type = prof_format::kElapsed;
  analysis = run.analyse();
  CHECK(sum_of(analysis, "b").self > 4020);
}

TEST_CASE("when the program ended by itself its main thread ran until the end") {
  Run run;
  run.writer.header().pid = 4000000;  // more than the kernel ever gives out
  run.writer.thread(run.thread).tid = 4000000;
  run.writer.thread(run.thread).last_tsc = kEnd - 300;
  run.writer.add_stack(run.thread, {{run.call(0, 'a', 1, 0)}});
  run.thread = run.writer.add_thread(4000001);
  run.writer.thread(run.thread).last_tsc = kStart + 5'000;
  run.writer.add_stack(run.thread, {{run.call(0, 'b', 1, 4'000)}});
  CHECK(text(run.analyse()) == "a:1:300:300 b:1:4000:4000");
  run.writer.header().flags = 0;
  run.writer.header().tsc_last = kEnd - 100;  // a later sign of life than the thread's last call
  CHECK(text(run.analyse()) == "a:1:200:200 b:1:4000:4000");
}

TEST_CASE("the top frame is the last one of the stack's last chunk, but for a copy that was left behind") {
  Run run;
  run.writer.header().pid = run.writer.thread(run.thread).tid = 4000000;
  run.writer.thread(run.thread).last_tsc = kEnd - 300;
  const Block a = run.call(0, 'a', 1, 10), b = run.call(a, 'b', 1, 20);
  const Block below = run.writer.add_stack(run.thread, {{a}});
  const Block above = run.writer.add_stack(run.thread, {{b}});
  run.writer.thread(run.thread).frames = run.writer.thread(run.thread).stacks = below;
  run.writer.chunk(above).next_stack = 0;
  run.writer.chunk(above).previous = below;
  run.writer.chunk(below).next = above;
  CHECK(text(run.analyse()) == "a:1:10:330(b:1:320:320)");
  reinterpret_cast<prof_format::Frame*>(&run.writer.chunk(above) + 1)[1].slot = 0;
  CHECK(text(run.analyse()) == "a:1:310:330(b:1:20:20)");
}

TEST_CASE("the probe's cost is taken from callee and caller, unless raw times are asked for") {
  Run run;
  run.writer.header().probe_inside = 10 * 256;
  run.writer.header().probe_outside = 30 * 256;
  const Block a = run.call(0, 'a', 1, 10'000);
  run.call(a, 'b', 100, 2'000);
  CHECK(text(run.analyse()) == "a:1:6990:7990(b:100:1000:1000)");
  CHECK(text(run.analyse(true)) == "a:1:10000:12000(b:100:2000:2000)");
}

TEST_CASE("a function that jumped to another had ended, so the other's hooks are not in its time") {
  Run run;
  run.writer.header().probe_inside = 10 * 256;
  run.writer.header().probe_outside = 30 * 256;
  const Block a = run.call(0, 'a', 1, 10'000);
  const Block jumped_to = run.call(a, 'b', 100, 2'000);
  run.writer.node(jumped_to).pc |= prof_format::kTailCall;
  run.call(a, 'c', 1, 20);
  const Analysis analysis = run.analyse();
  CHECK(text(analysis) == "a:1:9960:10970(b:100:1000:1000 c:1:10:10)");
  CHECK(analysis.tree.nodes[2].has_tail_calls);
  CHECK_FALSE(analysis.tree.nodes[1].has_tail_calls);
  CHECK_FALSE(analysis.tree.nodes[3].has_tail_calls);
}

TEST_CASE("a jump whose end had to be found out costs both functions more") {
  Run run;
  run.writer.header().probe_inside = 10 * 256;
  run.writer.header().probe_outside = 30 * 256;
  run.writer.header().probe_sought_inside = 15 * 256;
  run.writer.header().probe_sought_outside = 20 * 256;
  const Block a = run.call(0, 'a', 1, 10'000);
  const Block jumped_to = run.call(a, 'b', 100, 2'000);
  run.writer.node(jumped_to).pc |= prof_format::kTailCall | prof_format::kSoughtCall;
  run.call(a, 'b', 10, 200);  // a plain call from the same place
  const Analysis analysis = run.analyse();
  CHECK(text(analysis) == "a:1:7690:8290(b:110:600:600)");
  CHECK(analysis.tree.nodes[2].self_range.low < 0);  // the cost may be 2.5 times what was measured
  CHECK(analysis.tree.nodes[2].has_tail_calls);
}

TEST_CASE("the probe's cost of folded recursion is taken where the calls were made") {
  Run run;
  run.writer.header().probe_inside = 10 * 256;
  run.writer.header().probe_outside = 30 * 256;
  run.writer.header().folded_nodes = 1;
  const Block a = run.call(0, 'a', 1, 1'040);
  const Block b = run.call(a, 'b', 1, 140);
  run.call(b, 'b', 100, 100 * 110 + 99 * 30);  // one call by the b above, 99 by itself
  // Each of 101 calls of b runs for 100 cycles of its own.
  CHECK(text(run.analyse()) == "a:1:1000:11100(b:1:0:10100(b:100:10100:10100))");
}

TEST_CASE("probe cost that exceeds all time is told, not hidden") {
  Run run;
  run.writer.header().probe_inside = 10 * 256;
  run.call(0, 'a', 100, 900);
  const Analysis analysis = run.analyse();
  const std::string said = lines(analysis.remarks);
  CHECK(text(analysis) == "a:100:0:0");
  CHECK(said.find("hooks took 100 %") != std::string::npos);
}

TEST_CASE("a recursive function's inclusive time counts each cycle once") {
  Run run;
  const Block a = run.call(0, 'a', 1, 1);
  const Block b = run.call(a, 'b', 1, 10);
  const Block a2 = run.call(b, 'a', 1, 100);
  run.call(a2, 'a', 5, 1'000);
  run.call(0, 'b', 1, 10'000);
  const Analysis analysis = run.analyse();
  CHECK(sum_of(analysis, "a").calls == 7);
  CHECK(sum_of(analysis, "a").self == 1'101);
  CHECK(sum_of(analysis, "a").total == 1'111);
  CHECK(sum_of(analysis, "b").total == 11'110);
}

TEST_CASE("counted programs have no times, whatever the nodes hold") {
  Run run;
  run.writer.header().type = prof_format::kCount;
  run.writer.header().probe_inside = 10 * 256;
  run.call(0, 'a', 5, 77);
  const Analysis a = run.analyse();
  CHECK_FALSE(a.timed());
  CHECK(text(a) == "a:5:0:0");
}

TEST_CASE("lost calls and folded contexts are told") {
  Run run;
  run.writer.header().lost = 2;
  run.writer.thread(run.thread).lost = 3;
  run.writer.header().folded_nodes = 9;
  run.call(0, 'a', 1, 1);
  const Analysis analysis = run.analyse();
  const std::string said = lines(analysis.remarks);
  CHECK(analysis.lost == 5);
  CHECK(said.find("5 calls found no room") != std::string::npos);
  CHECK(said.find("9 contexts") != std::string::npos);
}

TEST_CASE("broken links cost what hangs on them, and are told") {
  auto damaged = [](auto damage) {
    Run run;
    const Block a = run.call(0, 'a', 1, 100);
    const Block b = run.call(a, 'b', 2, 20);
    const Block c = run.call(a, 'c', 3, 30);
    damage(run.writer, a, b, c);
    const Analysis analysis = run.analyse();
    CHECK(analysis.damaged);
    REQUIRE(analysis.remarks.size() == 1);
    CHECK(analysis.remarks[0].find("damaged") != std::string::npos);
    return text(analysis);
  };
  CHECK(damaged([](ProfileWriter& w, Block, Block b, Block c) { w.node(b).sibling = c; }) ==
        "a:1:100:150(b:2:20:20 c:3:30:30)");
  CHECK(damaged([](ProfileWriter& w, Block a, Block, Block c) { w.node(c).child = a; }) ==
        "a:1:100:150(b:2:20:20 c:3:30:30)");
  CHECK(damaged([](ProfileWriter& w, Block, Block, Block c) { w.node(c).sibling = 0x7fffffff; }) ==
        "a:1:100:130(c:3:30:30)");
  CHECK(damaged([](ProfileWriter& w, Block a, Block, Block) { w.node(a).child = 2; }) == "a:1:100:100");
  CHECK(damaged([](ProfileWriter& w, Block, Block b, Block) { w.node(b).count = uint64_t(1) << 62; }) ==
        "a:1:100:150(b:4611686018427387904:20:20 c:3:30:30)");
  CHECK(damaged([](ProfileWriter& w, Block, Block, Block) { w.header().first_thread = 0x7fffffff; }) == "");
}

TEST_CASE("a count is a count, however few cycles passed") {
  Run run;
  const Block a = run.call(0, 'a', 1, 100);
  run.call(a, 'b', uint64_t(1) << 50, 20);
  const Analysis analysis = run.analyse();
  CHECK(analysis.remarks.empty());
  CHECK(text(analysis) == "a:1:100:120(b:1125899906842624:20:20)");
}

TEST_CASE("numbers that cannot be are kept in view, marked, and of these a count alone is damage") {
  Run run;
  run.writer.header().probe_outside = 10 * 256;
  const Block a = run.call(0, 'a', 1, 100);
  run.call(a, 'b', ~uint64_t(0), 20);
  run.call(a, 'c', 3, uint64_t(1) << 60);              // longer than the run
  run.writer.node(run.call(0, 'e', 2, 0)).cycles = 7;  // the others are what they are
  const Analysis analysis = run.analyse();
  const std::string said = lines(analysis.remarks);
  CHECK(said.find("1 of its counts are greater") != std::string::npos);
  CHECK(said.find("1 time is longer than its thread ran, which cannot be. It has a ?, ") != std::string::npos);
  CHECK(analysis.damaged);
  const std::string shown = flat(analysis);
  CHECK(cell(shown, "Calls", "b") == "?18446744073709551615");
  CHECK(cell(shown, "Per-call", "b") == "-");
  CHECK(cell(shown, "Self", "c") == "?10.0s");
  CHECK(cell(shown, "Total", "a") == "?10.0s");
  CHECK(cell(shown, "Per-call", "e") == "3.50ns");
  CHECK(cell(shown, "Calls", "e") == "2");
  CHECK(tree(analysis).find("a:?10000.000") != std::string::npos);
}

TEST_CASE("a profile with any bit flipped or cut off anywhere is read or refused") {
  Run run;
  run.writer.header().flags = 0;
  const Block a = run.call(0, 'a', 1, 100);
  run.call(run.call(a, 'b', 2, 20), 'a', 3, 30);
  run.call(a, 'c', 3, 30);
  run.thread = run.writer.add_thread(2);
  run.call(0, 'd', 1, 1);
  const std::string whole = run.writer.bytes();
  prof::Input input;
  input.profiles = {run.dir / "prof.1"};
  auto try_to_read = [&](const std::string& bytes) {
    write_file(run.dir / "prof.1", bytes);
    try {
      const Analysis analysis = prof::analyse(input);
      CHECK(analysis.tree.nodes.size() <= 6);
      CHECK(analysis.tsc_hz >= 0);
    } catch (const prof::Error&) {
    }
  };
  for (size_t size = 0; size < whole.size(); size += 7) try_to_read(whole.substr(0, size));
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = char(bytes[bit / 8] ^ (1 << bit % 8));
    try_to_read(bytes);
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes = whole;
    for (int n = 0; n < 8; ++n)
      bytes[sizeof(prof_format::Header) + random() % (bytes.size() - sizeof(prof_format::Header))] = char(random());
    try_to_read(bytes);
  }
}

TEST_CASE("a tree of half a million levels needs no stack") {
  Run run;
  Block at = 0;
  for (int i = 0; i < 500'000; ++i) at = run.call(at, i % 2 ? 'a' : 'b', 1, 1);
  const Analysis analysis = run.analyse();
  CHECK(analysis.tree.nodes.size() == 500'001);
  CHECK(sum_of(analysis, "b").total == 500'000);
  CHECK(sum_of(analysis, "a").total == 499'999);
}

namespace {

// A run with estimated times, whose main calls are to be written with frames.
struct EstimatedRun : Run {
  EstimatedRun() { writer.header().type = prof_format::kAdaptive; }

  // `weight`: of all timed calls together.
  Block call(Block parent, char function, uint64_t calls, uint64_t timed, uint64_t weight, uint64_t timed_cycles,
             uint64_t timed_squares = 0) {
    const Block b = Run::call(parent, function, calls, weight);
    prof_format::Node& n = writer.node(b);
    n.timed = timed;
    n.timed_cycles = timed_cycles;
    n.timed_squares = timed_squares;
    return b;
  }
};

}  // namespace

TEST_CASE("estimated times: what a function did itself is its estimate less those of what it called") {
  EstimatedRun run;
  const Block a = run.call(0, 'a', 10, 10, 10, 100'000);
  run.call(a, 'b', 20'000, 8'000, 20'010, 40'020);  // the last sample stands for ten calls that never came
  CHECK(text(run.analyse()) == "a:10:60000:100000(b:20000:40000:40000)");
}

TEST_CASE("estimated times: the hooks' cost is that of the few timed calls and of the many others") {
  EstimatedRun run;
  run.writer.header().probe_inside = 30 * 256;
  run.writer.header().probe_outside = 60 * 256;
  run.writer.header().probe_counted = 10 * 256;
  const Block a = run.call(0, 'a', 1, 1, 1, 1'000'030);
  run.call(a, 'b', 2'000, 1'500, 2'000, 2'000 * 80);
  // b: 80 - 30 each. a: the whole, less b's calls with a pair of hooks each: 1500 of 90 and 500 of 10 cycles.
  CHECK(text(run.analyse()) == "a:1:760000:860000(b:2000:100000:100000)");
  CHECK(text(run.analyse(true)) == "a:1:900000:1000000(b:2000:100000:100000)");
}

TEST_CASE("estimated times: children do not take longer than their parent") {
  EstimatedRun run;
  const Block a = run.call(0, 'a', 1, 1, 1, 1'000);
  run.call(a, 'b', 5'000, 3'000, 5'000, 1'500);
  run.call(a, 'c', 5'000, 3'000, 5'000, 500);
  CHECK(text(run.analyse()) == "a:1:0:1000(b:5000:750:750 c:5000:250:250)");
}

TEST_CASE("estimated times: calls that have not returned took the time since their entry, or since that of one above") {
  EstimatedRun run;
  const Block a = run.call(0, 'a', 1, 0, 1, 0);
  const Block b = run.call(a, 'b', 40'001, 8'000, 40'001, 80'002);
  const Block c = run.call(b, 'c', 1, 0, 1, 0);
  const uint64_t half = kStart + (kEnd - kStart) / 2;
  run.writer.add_stack(run.thread, {{a, 1, kStart + 1'000}, {b}, {c, 1, half}});
  const Analysis analysis = run.analyse();
  CHECK(sum_of(analysis, "a").total == kEnd - kStart - 1'000);
  CHECK(sum_of(analysis, "b").total == kEnd - half + 80'000);
  CHECK(sum_of(analysis, "c").total == kEnd - half);
}

TEST_CASE("estimated times: their error is none as long as all calls were timed, and grows with what was not") {
  EstimatedRun run;
  const uint64_t unit = prof_format::kSquareUnit * prof_format::kSquareUnit;
  // Every other call takes 0 cycles and 3200: the mean is 1600, and so is the standard deviation.
  auto with_calls = [&](char function, uint64_t calls) {
    run.call(0, function, calls, std::min<uint64_t>(calls, 1'000), calls, calls * 1'600, calls * 3'200 * 1'600 / unit);
  };
  with_calls('a', 1'000);
  with_calls('b', 2'000);
  with_calls('c', 100'000);
  const Analysis analysis = run.analyse();
  CHECK(sum_of(analysis, "a").total_variance == 0);
  // Of the second thousand one in two is timed, with a weight of 1, 2 or 3: the sum of w(w - 1) is 1000 * (14 / 6 - 1).
  CHECK(sum_of(analysis, "b").total_variance == doctest::Approx(1'600.0 * 1'600 * 1'000 * (14.0 / 6 - 1)));
  CHECK(sum_of(analysis, "c").total_variance > 20 * sum_of(analysis, "b").total_variance);
}

TEST_CASE("estimated times: nothing is subtracted for a damaged count") {
  EstimatedRun run;
  run.call(0, 'a', ~uint64_t(0), 1'000'000, ~uint64_t(0), 1'000, 1'000);
  run.writer.header().probe_counted = 10 * 256;
  run.call(0, 'b', 1, 0, 1, 1'000);
  const Analysis analysis = run.analyse();
  CHECK(lines(analysis.remarks).find("1 of its counts are greater") != std::string::npos);
  CHECK(sum_of(analysis, "a").calls == ~uint64_t(0));
  CHECK(sum_of(analysis, "a").has_doubtful_calls);
  CHECK(analysis.tree.nodes[0].self_probe == 10);
  CHECK(sum_of(analysis, "b").total == 1'000);
}

TEST_CASE("estimated times: chunks of frames in a circle are walked once") {
  EstimatedRun run;
  const Block a = run.call(0, 'a', 1, 0, 1, 0);
  const Block stack = run.writer.add_stack(run.thread, {{a, 1, kEnd - 1'000}});
  run.writer.chunk(stack).next = stack;
  run.writer.chunk(stack).next_stack = stack;
  CHECK(sum_of(run.analyse(), "a").total == 1'000);
}
