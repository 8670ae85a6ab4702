#include <doctest/doctest.h>

#include "prof/model/analysis/analysis.h"
#include "prof/views/text/numbers.h"
#include "tests/unit/prof_analysed.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;
using prof::Analysis;

namespace {

// A run with a probe that costs 10 cycles inside and 30 outside.
class Run : public AnalysedRun {
 public:
  Run() {
    writer.header().probe_inside = 10 * 256;
    writer.header().probe_outside = 30 * 256;
  }
};

bool is_wide(const prof::FunctionSum& sum) { return prof::is_wide(sum.self_range, double(sum.self)); }

}  // namespace

TEST_CASE("a self time is within what the hooks of its calls and of those it made may have cost") {
  Run run;
  const Block a = run.call(0, 'a', 1, 10'000);
  run.call(a, 'b', 100, 2'000);
  const Analysis analysis = run.analyse();
  const prof::FunctionSum caller = sum_of(analysis, "a"), callee = sum_of(analysis, "b");
  CHECK(callee.self == 1'000);
  CHECK(callee.self_range.low == doctest::Approx(0.95 * (2'000 - 1'500)));
  CHECK(callee.self_range.high == doctest::Approx(1.05 * 2'000));
  CHECK(caller.self == 10'000 - 3'000 - 10);
  CHECK(caller.self_range.low == doctest::Approx(0.95 * (10'000 - 6'000 - 15)));
  CHECK(caller.self_range.high == doctest::Approx(1.05 * (10'000 - 1'500)));
  // In the total time both halves of all pairs are but that of the call itself.
  CHECK(caller.total == 10'000 - 3'000 - 10 + 1'000);
  CHECK(caller.total_range.low == doctest::Approx(0.95 * (12'000 - 1.3 * 4'000 - 15)));
  CHECK(caller.total_range.high == doctest::Approx(1.05 * (12'000 - 0.6 * 4'000)));
  CHECK(is_wide(callee));
}

TEST_CASE("the range grows by what measurements of the hooks differed") {
  Run run;
  run.writer.header().probe_inside_spread = 2 * 256;
  run.writer.header().probe_outside_spread = 4 * 256;
  const Block a = run.call(0, 'a', 1, 10'000);
  run.call(a, 'b', 100, 2'000);
  const Analysis analysis = run.analyse();
  CHECK(sum_of(analysis, "b").self_range.low == doctest::Approx(0.95 * (2'000 - 1'700)));
  CHECK(sum_of(analysis, "a").self_range.high == doctest::Approx(1.05 * (10'000 - 1'100)));
}

TEST_CASE("times of long functions have no range to show") {
  Run run;
  const Block a = run.call(0, 'a', 1, 100'000);
  run.call(a, 'b', 100, 50'000);
  const Analysis analysis = run.analyse();
  CHECK_FALSE(is_wide(sum_of(analysis, "a")));
  CHECK_FALSE(is_wide(sum_of(analysis, "b")));
}

TEST_CASE("what cannot be subtracted from a function is not taken from its caller, and may be its time") {
  Run run;
  const Block a = run.call(0, 'a', 1, 10'000);
  run.call(a, 'b', 100, 900);  // 9 cycles a call, the probe's measured cost is 10
  const Analysis analysis = run.analyse();
  CHECK(sum_of(analysis, "b").self == 0);
  CHECK(sum_of(analysis, "b").self_range.low < 0);
  CHECK(sum_of(analysis, "b").self_range.high == doctest::Approx(1.05 * 900));
  CHECK(sum_of(analysis, "a").self == 10'000 - 3'000 - 10);
}

TEST_CASE("raw times are what was measured, without a range") {
  Run run;
  run.call(0, 'a', 100, 900);
  const prof::FunctionSum sum = sum_of(run.analyse(true), "a");
  CHECK(sum.self == 900);
  CHECK(sum.self_range.low == 900);
  CHECK(sum.self_range.high == 900);
}

TEST_CASE("wide ranges are shown in the place of times, rounded outwards, and not below zero") {
  Run run;
  const Block a = run.call(0, 'a', 1, 2'000'000'000);
  run.call(a, 'b', 20'000'000, 253'100'000);  // of 12.6 cycles
  run.call(a, 'c', 1, 400'000);
  const Analysis analysis = run.analyse();
  CHECK(flat(analysis) ==
        "  %       Self     Total     Calls  Per-call\tName\n"
        "  -  0.75-1.8s  1.1-1.9s         1  1.1-1.9s\ta\n"
        "  -    0-270ms   0-270ms  20000000    0-14ns\tb\n"
        "0.0      400us     400us         1     400us\tc\n");
  CHECK(tree(analysis).find(". b:0-270/20000000\n") != std::string::npos);
}

TEST_CASE("what may be nothing and may be something has no percentage") {
  Run run;
  const Block a = run.call(0, 'a', 1, 2'000'000'000);
  run.call(a, 'b', 10'000'000, 90'000'000);
  CHECK(cell(flat(run.analyse()), "%", "b") == "-");
  CHECK(cell(flat(run.analyse()), "Self", "b") == "0-95ms");
}

TEST_CASE("a percentage is marked if the times of others make it uncertain, and not if there are no others") {
  Run run;
  const Block a = run.call(0, 'a', 1, 1'000'000);
  CHECK(cell(flat(run.analyse()), "%", "a") == "100.0");
  run.call(a, 'b', 10'000'000, 90'000'000);  // 9 cycles a call: all of it may be the probe's
  run.call(a, 'c', 1, 20'000'000);
  const std::string text = flat(run.analyse());
  CAPTURE(text);
  CHECK(cell(text, "%", "c") == "~100.0");
  CHECK(cell(text, "Self", "c") == "20.0ms");
}

TEST_CASE("the table begins with how long the program had a processor") {
  Run run;
  run.writer.header().type = prof_format::kTime;
  run.writer.thread(run.thread).end = kStart + 4'000'000'000;
  run.writer.thread(run.thread).last_tsc = kStart + 4'000'000'000;
  run.writer.thread(run.thread).away = 6'000'000'000;
  run.writer.thread(run.thread).preempted = 412;
  run.call(0, 'a', 1, 4'000'000'000);
  CHECK(flat(run.analyse(), {}).find("\nelapsed 10.0s, on a processor 4.00s, preempted 412 times\n") !=
        std::string::npos);
}

TEST_CASE("elapsed times of a program that hardly ran are remarked on") {
  Run run;
  run.writer.header().cpu_start = 1;
  run.writer.header().cpu_end = 1'000'000'001;
  run.call(0, 'a', 1, 10'000'000'000);
  const Analysis analysis = run.analyse();
  CHECK(flat(analysis, {}).find("\nelapsed 10.0s, on a processor 1.00s\n") != std::string::npos);
  CHECK(lines(analysis.remarks).find("on a processor 1.000 s of 10.000 s; the rest") != std::string::npos);
}

TEST_CASE("a run that was mostly hooks is remarked on, with what helps") {
  Run run;
  const Block a = run.call(0, 'a', 1, 1'000'000);
  run.call(a, 'b', 25'000, 300'000);
  CHECK(lines(run.analyse().remarks).find(": hooks took 77 % of the time") != std::string::npos);
  run.call(a, 'c', 1, 1'000'000);
  CHECK(lines(run.analyse().remarks).find("hooks took") == std::string::npos);
}
