#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "prof/views/run/views.h"
#include "prof/views/text/names.h"
#include "prof/views/text/numbers.h"
#include "tests/unit/prof_made_analysis.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;
using prof::Analysis;

TEST_CASE("the table has self and total times, calls, and the total time of a call") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 100'000'000);
  const uint32_t foo = s.add(main, "foo", 62'135'400, 2'700'000'000);
  s.add(foo, "beta", 10, 100'000'000);
  s.add(foo, "alpha", 10, 100'000'000);
  s.add(main, "zero", 0, 0);
  CHECK(flat(s.finish()) ==
        "   %   Self  Total     Calls  Per-call\tName\n"
        "90.0  2.70s  2.90s  62135400    46.7ns\tfoo::foo(int)\n"
        " 3.3  100ms  100ms        10    10.0ms\talpha\n"
        " 3.3  100ms  100ms        10    10.0ms\tbeta\n"
        " 3.3  100ms  3.00s         1     3.00s\tmain\n");
}

TEST_CASE("times have the unit that fits, and three digits; ranges have one unit and two digits, rounded outwards") {
  CHECK(prof::duration(0) == "0");
  CHECK(prof::duration(0.000'000'000'004) == "0");
  CHECK(prof::duration(0.33e-9) == "0.33ns");
  CHECK(prof::duration(999.4e-9) == "999ns");
  CHECK(prof::duration(999.6e-9) == "1.00us");
  CHECK(prof::duration(210e-6) == "210us");
  CHECK(prof::duration(1.234e-3) == "1.23ms");
  CHECK(prof::duration(9.996e-3) == "10.0ms");
  CHECK(prof::duration(99.96) == "100s");
  CHECK(prof::duration(12345.6) == "12346s");
  CHECK(prof::duration_range(0, 0.3) == "0-300ms");
  CHECK(prof::duration_range(0.5, 1.2) == "0.5-1.2s");
  CHECK(prof::duration_range(0.000'012'34, 0.001'01) == "0.012-1.1ms");
  CHECK(prof::duration_range(0.9e-3, 0.995e-3) == "0.9-1ms");
}

namespace {

long lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

// 30 functions with long names, of 1 to 30 ms; and main.
const Analysis& long_names(Sample& s) {
  const uint32_t main = s.add(0, "main", 1, 0);
  for (uint64_t i = 1; i <= 30; ++i) s.add_to(main, 0, 0x2000 + 16 * i, 10 * i, i * 1'000'000);
  s.finish();
  return s.analysis;
}

size_t longest_line(const std::string& text) {
  size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    const size_t before = tab == std::string::npos ? line.size() : tab / 8 * 8 + 8;
    longest = std::max(longest, tab == std::string::npos ? before : before + prof::columns_of(line.substr(tab + 1)));
  }
  return longest;
}

}  // namespace

TEST_CASE(
    "on a terminal the table ends after as many rows as it has room for and says what is left out; not in a pipe, or "
    "if all is wanted") {
  Sample s;
  const Analysis& a = long_names(s);
  const prof::TableOptions terminal = {.has_header = false, .columns = 80, .rows_of_terminal = 25};
  CHECK(lines_of(flat(a, terminal)) == 1 + 25 + 1);
  CHECK(flat(a, terminal).ends_with(" 6 more functions, 3.2 % of the time; --all shows them\n"));
  CHECK(lines_of(flat(a)) == 1 + 31);
  CHECK(lines_of(flat(a, {.all = true, .has_header = false, .columns = 80})) == 1 + 31);
  CHECK(flat(a, {.most_rows = 2, .has_header = false}) ==
        "  %    Self   Total  Calls  Per-call\tName\n"
        "6.5  30.0ms  30.0ms    300     100us\t#21e0\n"
        "6.2  29.0ms  29.0ms    290     100us\t#21d0\n" +
            std::string(prof::has_utf8_locale() ? "\u2026" : "...") + " 29 more functions, 87.3 % of the time\n");
  CHECK(flat(a, {.least_percent = 6.3, .has_header = false}).ends_with(" 30 more functions, 93.5 % of the time\n"));
  CHECK(flat(a, {.most_rows = 2}).starts_with("sample, PROFTYPE=elapsed\nnot shown: 29 of 31 functions\n  %"));
}

TEST_CASE("a table is as wide as a terminal at most: names are cut, and columns left out") {
  Sample s;
  s.add(0, "foo", 1, 1'000'000'000);
  s.analysis.functions.at(0, Sample::address_of("main"));
  const Analysis& a = s.finish();
  for (const size_t columns : {20, 40, 44, 80, 200}) {
    CAPTURE(columns);
    const std::string text = flat(a, {.has_header = false, .columns = columns});
    CHECK(longest_line(text) <= columns);
    CHECK((text.find("\tfoo::foo(int)\n") != std::string::npos) == (columns >= 40));
    CHECK((text.find("Per-call") != std::string::npos) == (columns >= 80));
    // What the rows are sorted by is not left out.
    const std::string sorted = flat(a, {.order = prof::SortKey::per_call, .has_header = false, .columns = columns});
    CHECK(longest_line(sorted) <= columns);
    CHECK((sorted.find("Per-call") != std::string::npos) == (columns >= 40));
  }
  CHECK(flat(a).find("\tfoo::foo(int)\n") != std::string::npos);
}

TEST_CASE("the table is sorted by what is asked for") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 3'000);
  const uint32_t foo = s.add(main, "foo", 5, 1'000);
  s.add(foo, "beta", 1, 2'000);
  s.add(foo, "alpha", 9, 4'000);
  const Analysis& a = s.finish();
  const auto names = [&](prof::SortKey key) {
    std::string found;
    std::istringstream lines(flat(a, {.order = key, .has_header = false}));
    for (std::string line; std::getline(lines, line);) found += line[line.find('\t') + 1];
    return found.substr(1);
  };
  CHECK(names(prof::SortKey::self) == "ambf");
  CHECK(names(prof::SortKey::total) == "mfab");
  CHECK(names(prof::SortKey::calls) == "afmb");
  CHECK(names(prof::SortKey::per_call) == "mbfa");
  CHECK(names(prof::SortKey::name) == "abfm");
  const auto json =
      nlohmann::json::parse(printed([&](prof::Output& out) { prof::print_json(a, prof::SortKey::calls, out); }));
  CHECK(json["functions"][0]["name"] == "alpha");
  CHECK(json["functions"][0]["share"] == 0.4);
  CHECK(json["functions"][2]["cycles_per_call"] == 10'000);
  // The tree's references follow.
  CHECK(json["functions"][json["tree"][0]["function"].get<size_t>()]["name"] == "main");
}

TEST_CASE(
    "what may have taken more than twice as long as the least has no percentage, and its place is that of the most") {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 500'000'000);
  s.add(main, "foo", 1000, 2'700'000'000);
  s.add(main, "alpha", 1, 300'000'000);
  s.finish();
  for (prof::FunctionSum& sum : s.analysis.sums) {
    sum.self_range = {double(sum.self), double(sum.self)};
    sum.total_range = {double(sum.total), double(sum.total)};
  }
  prof::FunctionSum& foo = s.analysis.sums[1];
  REQUIRE(foo.calls == 1000);
  foo.self_range = foo.total_range = {400e6, 5.1e9};
  CHECK(flat(s.analysis) ==
        "    %      Self     Total  Calls   Per-call\tName\n"
        "    -  0.4-5.1s  0.4-5.1s   1000  0.4-5.1ms\tfoo::foo(int)\n"
        "~14.3     500ms     3.50s      1      3.50s\tmain\n"
        " ~8.6     300ms     300ms      1      300ms\talpha\n");
  foo.self = 200'000'000;  // less than alpha's
  foo.self_range = {0, 400e6};
  CHECK(flat(s.analysis) ==
        "    %     Self     Total  Calls   Per-call\tName\n"
        "~50.0    500ms     3.50s      1      3.50s\tmain\n"
        "    -  0-400ms  0.4-5.1s   1000  0.4-5.1ms\tfoo::foo(int)\n"
        "~30.0    300ms     300ms      1      300ms\talpha\n");
  foo.self = 2'700'000'000;
  foo.self_range = foo.total_range = {2e9, 3e9};
  CHECK(flat(s.analysis) ==
        "    %   Self  Total  Calls  Per-call\tName\n"
        " 77.1   2-3s   2-3s   1000     2-3ms\tfoo::foo(int)\n"
        "~14.3  500ms  3.50s      1     3.50s\tmain\n"
        " ~8.6  300ms  300ms      1     300ms\talpha\n");
}

TEST_CASE("a flat view of no time at all has no nan") {
  Sample s;
  s.add(0, "main", 1, 0);
  CHECK(flat(s.finish()) == "  %  Self  Total  Calls  Per-call\tName\n0.0     0      0      1         0\tmain\n");
  CHECK(flat(Sample().finish()) == "%  Self  Total  Calls  Per-call\tName\n");
}

TEST_CASE("counted programs show the share of calls and no time") {
  Sample s;
  s.analysis.type = prof::FigureType::count;
  s.add(s.add(0, "main", 1, 0), "step", 3, 0);
  CHECK(flat(s.finish()) == "   %  Calls\tName\n75.0      3\tstep\n25.0      1\tmain\n");
  CHECK(tree(s.finish()) == "main:-\n. step:-/3\n");
}
