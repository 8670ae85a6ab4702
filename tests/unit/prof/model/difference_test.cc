#include "prof/model/compare/difference.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "prof/read/error.h"
#include "prof/views/compare/difference.h"
#include "prof/views/text/numbers.h"
#include "tests/unit/prof_analysed.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;
using prof::Change;
using prof::ComparedFunction;
using prof::Comparison;
using prof::Difference;
using prof::DifferenceOptions;

namespace {

constexpr uint64_t kMilli = 1'000'000;  // cycles of a millisecond

double p_of(prof::Sample a, prof::Sample b) { return prof::chance_of_difference(a, b).value_or(-1); }

prof::Sample sample(const std::vector<double>& values) {
  prof::Measurements m;
  for (const double value : values) m.add(value);
  return {m.mean(values.size()), m.variance(values.size()), values.size()};
}

// A run in which a calls b so often, which takes so many milliseconds; and c, once, if that takes any time. `probe`:
// cycles that a pair of hooks costs, half of them inside.
prof::Analysis run(uint64_t calls, double b, double c, uint64_t probe = 0) {
  AnalysedRun r;
  r.writer.header().probe_inside = r.writer.header().probe_outside = probe * 128;
  const Block a = r.call(0, 'a', 1, 10 * kMilli);
  r.call(a, 'b', calls, uint64_t(b * kMilli));
  if (c > 0) r.call(a, 'c', 1, uint64_t(c * kMilli));
  return r.analyse();
}

const ComparedFunction& function(const Difference& d, const std::string& name) {
  for (const ComparedFunction& f : d.functions)
    if (f.name == name) return f;
  FAIL("no function " << name);
  return d.functions[0];
}

struct Runs {
  std::vector<prof::Analysis> a, b;
  Difference compared() const {
    Comparison comparison(true);
    for (const prof::Analysis& run : a) comparison.add(0, run);
    for (const prof::Analysis& run : b) comparison.add(1, run);
    return comparison.finish();
  }
};

Difference compared(prof::Analysis a, prof::Analysis b) {
  Runs runs;
  runs.a.push_back(std::move(a));
  runs.b.push_back(std::move(b));
  return runs.compared();
}

// Three runs of each: b takes longer and is called more often, c is new.
Difference three_runs() {
  Runs runs;
  for (const double noise : {0.0, 0.3, 0.7}) runs.a.push_back(run(100, 20 + noise, 0));
  for (const double noise : {0.2, 0.0, 0.5}) runs.b.push_back(run(200, 30 + noise, 5 + noise));
  return runs.compared();
}

std::string table(const Difference& d, const DifferenceOptions& options = {}) {
  return printed([&](prof::Output& out) { prof::print_difference(d, options, out); });
}

std::string difference_tree(const Difference& d, const DifferenceOptions& options = {}) {
  unsetenv("tabstop");
  return printed([&](prof::Output& out) { prof::print_difference_tree(d, options, out); });
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("statistics: Student's t and Welch's test have the values of tables") {
  CHECK(prof::chance_of_t(0, 3) == doctest::Approx(1));
  CHECK(prof::chance_of_t(12.706, 1) == doctest::Approx(0.05).epsilon(0.001));
  CHECK(prof::chance_of_t(-4.303, 2) == doctest::Approx(0.05).epsilon(0.001));
  CHECK(prof::chance_of_t(2.228, 10) == doctest::Approx(0.05).epsilon(0.001));
  CHECK(prof::chance_of_t(1.984, 100) == doctest::Approx(0.05).epsilon(0.001));
  CHECK(prof::chance_of_t(1.0, 1) == doctest::Approx(0.5));
  CHECK(prof::chance_of_t(1e30, 2) < 1e-20);
  // By R: t.test(c(10, 11, 12), c(14, 15, 19)).
  CHECK(p_of(sample({10, 11, 12}), sample({14, 15, 19})) == doctest::Approx(0.0709).epsilon(0.01));
  CHECK(p_of(sample({10, 11, 12}), sample({12, 11, 10})) == doctest::Approx(1));
  // Nothing varies: what differs does.
  CHECK(p_of(sample({5, 5}), sample({5, 5})) == 1);
  CHECK(p_of(sample({5, 5}), sample({6, 6})) == 0);
  // One run beside several: Student's test of one value. And one beside one: nothing can be said.
  CHECK(p_of(sample({10, 11, 12}), sample({11})) == doctest::Approx(1));
  CHECK(p_of(sample({10, 11, 12}), sample({40})) < 0.01);
  CHECK(!prof::chance_of_difference(sample({10}), sample({40})));
}

TEST_CASE("statistics: what chance does at most is what the test does not believe in") {
  // 2.776 of 4 degrees of freedom. Both have a variance of 1.
  const prof::Sample a = sample({10, 11, 12}), b = sample({20, 21, 22});
  CHECK(*prof::greatest_by_chance(a, b) == doctest::Approx(2.776 * std::sqrt(2.0 / 3)).epsilon(0.001));
  for (const double off : {0.0, 1.0, 2.0, 2.2, 2.3, 2.5, 5.0}) {
    const prof::Sample moved = sample({10 + off, 11 + off, 12 + off});
    CHECK((off > *prof::greatest_by_chance(a, moved)) == (p_of(a, moved) < prof::kGreatestP));
  }
  // Of a fraction of a degree it is more than less.
  const prof::Sample wide = sample({10, 20, 33});
  CHECK(p_of(wide, {wide.mean + *prof::greatest_by_chance(wide, a), 1, 3}) <= prof::kGreatestP);
  CHECK(*prof::greatest_by_chance(sample({5, 5}), sample({6, 6})) == 0);
  CHECK(!prof::greatest_by_chance(sample({10}), sample({40})));
}

TEST_CASE("statistics: figures of large numbers that differ little, and of runs without any") {
  prof::Measurements m;
  for (const double x : {1e15 + 1, 1e15 + 2, 1e15 + 3}) m.add(x);
  CHECK(m.mean(3) == 1e15 + 2);
  CHECK(m.variance(3) == 1);
  prof::Measurements some;
  some.add(3);
  some.add(6);
  CHECK(some.mean(3) == 3);
  CHECK(some.variance(3) == 9);
  CHECK(some.variance(1) == 0);
  CHECK(prof::Measurements().mean(2) == 0);
}

TEST_CASE("difference: a change is known if its range is on one side of 0") {
  // One run each: b takes longer than all errors explain, a does not.
  const Difference one = compared(run(1000, 20, 0, 1000), run(1000, 40, 0, 1000));
  for (const char* name : {"a", "b"}) {
    const Change self = one.self(function(one, name).sides);
    CHECK(self.range.low <= self.amount());
    CHECK(self.amount() <= self.range.high);
    CHECK(self.is_known == (self.range.low > 0 || self.range.high < 0));
    CHECK(self.is_known == (name[0] == 'b'));
  }
  const Difference three = three_runs();
  const Change slower = three.self(function(three, "b").sides), same = three.self(function(three, "a").sides);
  CHECK(slower.range.low > 0);
  CHECK(slower.range.high - slower.amount() == doctest::Approx(slower.amount() - slower.range.low));
  CHECK(same.range.low <= 0);
  CHECK(same.range.high >= 0);
}

TEST_CASE("difference: several runs are tested, counts are exact") {
  const Difference d = three_runs();
  CHECK(d.is_tested());
  const ComparedFunction &a = function(d, "a"), &b = function(d, "b"), &c = function(d, "c");
  CHECK(d.self(b.sides).first == doctest::Approx(0.0203333).epsilon(0.001));
  CHECK(d.self(b.sides).amount() == doctest::Approx(0.0099).epsilon(0.01));
  CHECK(d.self(b.sides).is_known);
  CHECK(*d.self(b.sides).p < 0.001);
  CHECK(d.calls(b.sides).first == 100);
  CHECK(d.calls(b.sides).second == 200);
  CHECK(d.calls(b.sides).is_known);
  CHECK(d.per_call(b.sides).amount() == doctest::Approx(-50e-6).epsilon(0.05));
  CHECK(!d.self(a.sides).is_known);
  CHECK(!d.calls(a.sides).is_known);
  CHECK(d.total(a.sides).is_known);
  CHECK(!c.occurs[0]);
  CHECK(c.occurs[1]);
  CHECK(d.self(d.all).amount() == doctest::Approx(0.01513).epsilon(0.01));
  CHECK(d.calls(d.all).amount() == 101);
}

TEST_CASE("difference: what differs as much within a side is noise") {
  Runs runs;
  for (const double b : {20, 26, 23}) runs.a.push_back(run(100, b, 0));
  for (const double b : {25, 22, 27}) runs.b.push_back(run(100, b, 0));
  const Difference d = runs.compared();
  CHECK(!d.self(function(d, "b").sides).is_known);
  CHECK(contains(table(d), "~+1.67ms"));
}

TEST_CASE("difference: of one run each the ranges tell") {
  Difference d = compared(run(100, 20, 0), run(100, 30, 0));
  CHECK(!d.is_tested());
  CHECK(d.self(function(d, "b").sides).is_known);
  d = compared(run(100, 20, 0), run(100, 21, 0));  // as the program itself may be slower by its hooks
  CHECK(!d.self(function(d, "b").sides).is_known);
  // Twice the calls, and twice the time, which may be that of the hooks: 100 cycles of 120 are theirs.
  d = compared(run(100'000, 12, 0, 100), run(200'000, 24, 0, 100));
  CHECK(!d.self(function(d, "b").sides).is_known);
  CHECK(d.calls(function(d, "b").sides).is_known);
}

TEST_CASE("difference: a change is not believed if it may be that of the hooks' cost, however sure it is") {
  Runs runs;
  for (const double b : {7.0, 7.1, 7.2}) runs.a.push_back(run(100'000, b, 0, 100));
  for (const double b : {14.0, 14.1, 14.2}) runs.b.push_back(run(200'000, b, 0, 100));
  const Difference d = runs.compared();
  const Change self = d.self(function(d, "b").sides);
  CHECK(*self.p < prof::kGreatestP);
  CHECK(!self.is_known);
}

TEST_CASE("difference: counts that vary between the runs of a side are tested, too") {
  Runs runs;
  for (const uint64_t n : {100, 120, 110}) runs.a.push_back(run(n, 20, 0));
  for (const uint64_t n : {105, 125, 112}) runs.b.push_back(run(n, 20, 0));
  Difference d = runs.compared();
  CHECK(!d.calls(function(d, "b").sides).is_known);
  CHECK(contains(table(d), "~110->114"));
}

TEST_CASE("difference: runs of machines with other clocks are compared in seconds") {
  AnalysedRun slow, fast;
  slow.call(0, 'a', 1, 1'000'000'000);
  fast.call(0, 'a', 1, 2'000'000'000);
  fast.writer.header().tsc_end = fast.writer.header().tsc_last = kStart + 2 * (kEnd - kStart);  // 2 GHz
  const Difference d = compared(slow.analyse(), fast.analyse());
  CHECK(d.self(function(d, "a").sides).first == doctest::Approx(1));
  CHECK(d.self(function(d, "a").sides).second == doctest::Approx(1));
}

TEST_CASE("difference: runs of two builds are not one side") {
  Comparison comparison(false);
  for (const bool is_other : {false, true}) {
    AnalysedRun r;
    ElfWriter e;
    e.rewritten = true;
    e.build_id = "id";
    e.original_build_id = is_other ? "of the other" : "of one";
    e.add_symbol("a", 0x100, 16);
    e.add_copy(0x10100, 0x100);
    e.write(r.dir / "program");
    r.call(0, 'a', 1, 1);
    if (!is_other)
      comparison.add(0, r.analyse());
    else
      CHECK_THROWS_AS(comparison.add(0, r.analyse()), prof::Error);
  }
}

TEST_CASE("difference: the table") {
  const std::string text = table(three_runs());
  CAPTURE(text);
  CHECK(contains(text, "program, mean of 3 runs: 10.0s\n"));
  CHECK(contains(text, " Change       %      p  Self A  Self B    Total     Calls  Per call\tName\n"));
  CHECK(contains(text, "+9.90ms  +48.7%  <.001  20.3ms  30.2ms  +9.90ms  100->200   -52.2us\tb\n"));
  CHECK(contains(text, "     new  <.001       0  5.23ms  +5.23ms      0->1          \tc\n"));
  CHECK(contains(text, "      0      0%  1.000  10.0ms  10.0ms  +15.1ms         1   +15.1ms\ta\n"));
  CHECK(contains(text, "\tall functions\n"));
  CHECK(text.find("\tb\n") < text.find("\tc\n"));
  DifferenceOptions by_name;
  by_name.sort = DifferenceOptions::Sort::name;
  by_name.rows = 2;
  const std::string sorted = table(three_runs(), by_name);
  CHECK(sorted.find("\ta\n") < sorted.find("\tb\n"));
  CHECK(!contains(sorted, "\tc\n"));
  CHECK(contains(sorted, " 1 more function\n"));
}

TEST_CASE("difference: the tree has what changed, and what leads there") {
  Runs runs;
  for (const bool is_second : {false, true}) {
    AnalysedRun r;
    const Block a = r.call(0, 'a', 1, 10 * kMilli);
    r.call(r.call(a, 'b', 5, kMilli), 'c', is_second ? 7 : 5, kMilli);
    r.call(a, 'd', 1, kMilli);
    r.call(a, is_second ? 'e' : 'f', 3, kMilli);
    (is_second ? runs.b : runs.a).push_back(r.analyse());
  }
  const Difference d = runs.compared();
  CHECK(difference_tree(d) ==
        " a:14.0ms->14.0ms\n"
        " . b:2.00ms->2.00ms/5\n"
        " .\tc:1.00ms->1.00ms/5->7\n"
        "-. f:1.00ms/3\n"
        "+. e:1.00ms/3\n");
  DifferenceOptions all;
  all.all = true;
  CHECK(contains(difference_tree(d, all), " . d:1.00ms->1.00ms\n"));
}

TEST_CASE("difference: recursion is cut off in the tree") {
  Runs runs;
  for (const uint64_t calls : {5, 6}) {
    AnalysedRun r;
    r.call(r.call(r.call(0, 'a', 1, kMilli), 'a', 1, kMilli), 'b', calls, kMilli);
    (calls == 6 ? runs.b : runs.a).push_back(r.analyse());
  }
  const Difference d = runs.compared();
  CHECK(contains(difference_tree(d), " . a:2.00ms->2.00ms\n .\t...\n"));
  DifferenceOptions whole;
  whole.whole_recursion = true;
  CHECK(contains(difference_tree(d, whole), " .\tb:1.00ms->1.00ms/5->6\n"));
}

TEST_CASE("difference: JSON has all figures") {
  const auto json = nlohmann::json::parse(
      printed([](prof::Output& out) { prof::print_difference_json(three_runs(), "elapsed", out); }));
  CHECK(json["type"] == "elapsed");
  CHECK(json["test"] == "welch");
  CHECK(json["a"]["runs"] == 3);
  CHECK(json["functions"].size() == 3);
  CHECK(json["functions"][1]["name"] == "b");
  CHECK(json["functions"][1]["calls"]["change"] == 100);
  CHECK(json["functions"][1]["self_seconds"]["known"] == true);
  CHECK(json["functions"][2]["in"] == "b");
  CHECK(json["tree"][0]["parent"] == -1);
  CHECK(json["tree"][2]["parent"] == 0);
  CHECK(json["tree"][2]["function"] == 2);
  CHECK(json["all"]["calls"]["b"] == 202);
}

TEST_CASE("difference: figures in units that suit them") {
  CHECK(prof::duration(0) == "0");
  CHECK(prof::duration(1.234e-9) == "1.23ns");
  CHECK(prof::duration(12.34e-6) == "12.3us");
  CHECK(prof::duration(0.1234) == "123ms");
  CHECK(prof::duration(0.99999) == "1.00s");
  CHECK(prof::duration(12345) == "12345s");
  CHECK(prof::duration_change({2, 1, {}, true}) == "-1.00s");
  CHECK(prof::duration_change({1, 1.5, 0.2, false}) == "~+500ms");
  CHECK(prof::duration_change({1, 1 + 1e-7, 0.9, false}) == "0");
  CHECK(prof::percent_text({1, 1.5, {}, true}) == "+50.0%");
  CHECK(prof::percent_text({0, 1.5, {}, true}) == "");
  CHECK(prof::count_text(3) == "3");
  CHECK(prof::count_text(3.25) == "3.2");
}
