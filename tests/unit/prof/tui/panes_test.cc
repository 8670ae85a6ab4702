// The panes of prof tui, without a terminal: their lines, and what keys do to them.

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "prof/tui/pane.h"
#include "prof/tui/table_pane.h"
#include "prof/tui/text_pane.h"
#include "prof/tui/tree_pane.h"
#include "prof/views/text/names.h"
#include "tests/unit/prof_made_analysis.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;
using prof::tui::Key;
using prof::tui::Look;
using prof::tui::Pane;
using prof::tui::Query;
using prof::tui::TablePane;
using prof::tui::TreePane;

namespace {

Key typed(const char* character) { return {Key::Name::character, character}; }

std::vector<std::string> lines_of(Pane& pane) {
  std::vector<std::string> lines;
  for (size_t row = 0; row < pane.rows(); ++row) lines.push_back(pane.row(row));
  return lines;
}
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(prof::tui::without_tabs(line));
  return lines;
}

// main calls foo (all the time is there), which calls alpha and itself, and beta; tiny has hardly any time.
prof::Analysis analysed(uint64_t step_calls = 0) {
  Sample s;
  const uint32_t main = s.add(0, "main", 1, 1'000'000);
  const uint32_t foo = s.add(main, "foo", 500, 60'000'000);
  s.add(foo, "alpha", 9, 20'000'000);
  s.add(s.add(foo, "foo", 3, 5'000'000), "alpha", 1, 4'000'000);
  s.add(main, "beta", 7, 30'000'000);
  s.add(s.add(main, "tiny", 2, 1'000), "alpha", 2, 1'000);
  if (step_calls != 0) s.add(main, "step", step_calls, 1'000'000'000);
  s.finish();
  return std::move(s.analysis);
}

// The names in a pane, by what stands before the colon.
std::string outline(Pane& pane) {
  std::string text;
  for (const std::string& line : lines_of(pane)) text += line.substr(0, line.find(':')) + "|";
  return text;
}

}  // namespace

TEST_CASE("lines are cut, and tabs written out, by columns, not by bytes") {
  using prof::tui::cut_at, prof::tui::without_tabs;
  CHECK(without_tabs("a\tb") == "a       b");
  CHECK(without_tabs("\u65e5\u672c\t|") == "\u65e5\u672c    |");
  CHECK(without_tabs("12345678\t|") == "12345678        |");
  CHECK(cut_at("gr\u00f6\u00dfe", 4) == "gr\u00f6\u00df");
  CHECK(cut_at("a\u65e5\u672c", 4) == "a\u65e5");
  CHECK(cut_at("abc", 0).empty());
}

TEST_CASE("a query is part of a text; without capitals it finds these, too") {
  CHECK(Query("lph").find_in("Alpha") == 1);
  CHECK(Query("alpha").find_in("ALPHA") == 0);
  CHECK_FALSE(Query("Alpha").find_in("alpha"));
  CHECK(Query("\u00f6").find_in("gr\u00f6\u00dfe") == 2);
  CHECK_FALSE(Query("*").find_in("alpha"));
  CHECK_FALSE(Query("").find_in("alpha"));
}

TEST_CASE("the cursor stays in the list, and the list moves no more than it has to") {
  prof::tui::TextPane pane([](size_t) { return prof::tui::Text{{}, std::vector<std::string>(10, "line")}; });
  pane.set_columns(80);
  CHECK(pane.first_of(4) == 0);
  pane.move(3);
  CHECK(pane.first_of(4) == 0);
  pane.move(1);
  CHECK(pane.first_of(4) == 1);
  pane.move(-2);
  CHECK(pane.first_of(4) == 1);
  pane.move(100);
  CHECK(pane.cursor() == 9);
  CHECK(pane.first_of(4) == 6);
  CHECK(pane.first_of(8) == 2);
  CHECK(pane.first_of(20) == 0);
  pane.move(-100);
  CHECK(pane.cursor() == 0);
}

TEST_CASE("the table has the lines that prof prints, at any width and in any order") {
  const Look look(analysed());
  for (const size_t columns : {size_t(20), size_t(40), size_t(80), size_t(200)}) {
    CAPTURE(columns);
    TablePane pane(look);
    pane.set_columns(columns);
    const prof::SortKey keys[] = {prof::SortKey::self, prof::SortKey::total, prof::SortKey::calls,
                                  prof::SortKey::per_call, prof::SortKey::name};
    for (const prof::SortKey key : keys) {
      CAPTURE(pane.state());
      std::vector<std::string> wanted =
          lines_of(flat(look.analysis, {.order = key, .all = true, .has_header = false, .columns = columns}));
      CHECK(pane.heading().back() == wanted[0]);
      wanted.erase(wanted.begin());
      CHECK(lines_of(pane) == wanted);
      CHECK(pane.take(typed("s")));
    }
    CHECK(pane.state() == "by self");
    CHECK(pane.take(typed("S")));
    CHECK(pane.state() == "by name");
  }
}

TEST_CASE("a filter leaves the cursor on its function, as long as that is there") {
  const Look look(analysed());
  TablePane pane(look);
  pane.set_cursor(2);
  const auto alpha = pane.function_at(2);
  REQUIRE(look.names[*alpha] == "alpha");
  pane.set_filter(Query("a"));
  CHECK(pane.rows() == 3);  // alpha, beta, main
  CHECK(pane.function_at(pane.cursor()) == alpha);
  pane.set_filter(Query("beta"));
  CHECK(pane.rows() == 1);
  CHECK(pane.cursor() == 0);
  CHECK(pane.take({Key::Name::escape}));
  CHECK(pane.rows() == 5);
  CHECK(look.names[*pane.function_at(pane.cursor())] == "beta");
  CHECK_FALSE(pane.take({Key::Name::escape}));
  pane.set_filter(Query("nothing is called so"));
  CHECK(pane.rows() == 0);
  CHECK_FALSE(pane.function_at(0));
  CHECK_FALSE(pane.find(Query("alpha"), true));
}

TEST_CASE("the table is searched in both directions, around its ends") {
  const Look look(analysed());
  TablePane pane(look);
  while (pane.state() != "by name") pane.take(typed("s"));
  const auto found = [&](const char* text, bool forwards) {
    REQUIRE(pane.find(Query(text), forwards));
    return look.names[*pane.function_at(pane.cursor())];
  };
  pane.set_cursor(0);
  CHECK(found("a", true) == "beta");
  CHECK(found("a", true) == "main");
  CHECK(found("a", true) == "alpha");
  CHECK(found("a", false) == "main");
}

TEST_CASE("at first the tree shows where much of the time goes; lines are those of prof -d") {
  const Look look(analysed());
  const auto pane = TreePane::of_all(look);
  CHECK(outline(*pane) == "- main|- . foo|  .   alpha|+ .   foo|  . beta|+ . tiny|");
  pane->set_cursor(0);
  CHECK(pane->take(typed("*")));
  for (const size_t columns : {size_t(30), size_t(80), size_t(200)}) {
    CAPTURE(columns);
    pane->set_columns(columns);
    std::vector<std::string> wanted =
        lines_of(tree(look.analysis, {.whole_recursion = true, .sort = prof::SortKey::total, .columns = columns - 2}));
    std::vector<std::string> lines = lines_of(*pane);
    for (std::string& line : lines) line.erase(0, 2);
    CHECK(lines == wanted);
  }
}

TEST_CASE("where no calls are known, that is said instead of a tree") {
  Sample s;
  s.finish();
  const Look look(std::move(s.analysis));
  const auto pane = TreePane::of_all(look);
  CHECK(pane->rows() == 0);
  CHECK(pane->heading() == std::vector<std::string>{"of who called whom nothing is known here"});
  CHECK_FALSE(pane->take(typed("*")));
  CHECK_FALSE(pane->find(Query("main"), true));
  CHECK(TablePane(look).rows() == 0);
}

TEST_CASE("lines of the tree are folded and unfolded") {
  const Look look(analysed());
  const auto pane = TreePane::of_all(look);
  const std::string at_first = outline(*pane);
  pane->set_cursor(1);
  CHECK(pane->take({Key::Name::left}));
  CHECK(outline(*pane) == "- main|+ . foo|  . beta|+ . tiny|");
  CHECK(pane->take({Key::Name::left}));  // nothing to fold: out
  CHECK(pane->cursor() == 0);
  CHECK(pane->take(typed("-")));
  CHECK(outline(*pane) == "+ main|");
  CHECK(pane->take(typed("+")));
  CHECK(outline(*pane) == "- main|+ . foo|  . beta|+ . tiny|");
  pane->set_cursor(1);
  CHECK(pane->take(typed(" ")));
  CHECK(outline(*pane) == at_first);
  CHECK(pane->take({Key::Name::right}));  // nothing to unfold: in
  CHECK(pane->cursor() == 2);
  CHECK(pane->take({Key::Name::right}));
  CHECK(pane->cursor() == 2);
  pane->set_cursor(0);
  CHECK(pane->take(typed("*")));
  CHECK(outline(*pane) == "- main|- . foo|  .   alpha|- .   foo|  .     alpha|  . beta|- . tiny|  .   alpha|");
  CHECK_FALSE(pane->take({Key::Name::enter}));
}

TEST_CASE("a search in the tree unfolds what it finds") {
  const Look look(analysed());
  const auto pane = TreePane::of_all(look);
  pane->take(typed("-"));
  CHECK(outline(*pane) == "+ main|");
  CHECK(pane->find(Query("alpha"), false));  // the last one
  CHECK(outline(*pane) == "- main|- . foo|  .   alpha|+ .   foo|  . beta|- . tiny|  .   alpha|");
  CHECK(pane->cursor() == 6);
  CHECK(pane->find(Query("alpha"), true));
  CHECK(pane->cursor() == 2);
  CHECK(pane->find(Query("alpha"), true));  // within foo, which is folded
  CHECK(outline(*pane) == "- main|- . foo|  .   alpha|- .   foo|  .     alpha|  . beta|- . tiny|  .   alpha|");
  CHECK(pane->cursor() == 4);
  CHECK_FALSE(pane->find(Query("nothing is called so"), true));
}

TEST_CASE("the tree is sorted by what is asked for, with the cursor on the same context") {
  const Look look(analysed());
  const auto pane = TreePane::of_all(look);
  pane->set_cursor(4);
  CHECK(pane->row(4).starts_with("  . beta:"));
  const std::string wanted[] = {"by self", "by calls", "by per-call", "by name", "by first call", "by total"};
  for (const std::string& order : wanted) {
    CHECK(pane->take(typed("s")));
    CHECK(pane->state() == order);
    CHECK(pane->row(pane->cursor()).starts_with("  . beta:"));
    if (order == "by name") CHECK(outline(*pane) == "- main|  . beta|- . foo|  .   alpha|+ .   foo|+ . tiny|");
  }
  CHECK(pane->take(typed("S")));
  CHECK(pane->state() == "by first call");
}

TEST_CASE("a tree through a function has its contexts only, and two around it its callers and callees") {
  const Look look(analysed());
  uint32_t alpha = 0, foo = 0;
  for (uint32_t f = 0; f < look.names.size(); ++f) {
    if (look.names[f] == "alpha") alpha = f;
    if (look.names[f] == "foo::foo(int)") foo = f;
  }
  const auto through = TreePane::through(look, alpha);
  through->take(typed("*"));
  CHECK(outline(*through) == "- main|- . foo|  .   alpha|- .   foo|  .     alpha|- . tiny|  .   alpha|");
  CHECK(through->heading() == std::vector<std::string>{"only through alpha"});
  through->go_to(foo);
  CHECK(through->cursor() == 1);

  const auto around = TreePane::around(look, foo);
  CHECK(outline(*around) == "its callers|- foo|  . main|+ . foo|what it calls|- foo|  . alpha|+ . foo|");
  CHECK_FALSE(around->function_at(0));
  CHECK(around->function_at(1) == foo);
  CHECK(around->row(2).starts_with("  . main:89.000/500 "));
  // A function that is in no context.
  prof::Analysis other = analysed();
  const uint32_t step = other.functions.at(0, Sample::address_of("step"));
  other.sums.resize(other.functions.functions().size());
  const Look more(std::move(other));
  CHECK(lines_of(*TreePane::around(more, step)) ==
        std::vector<std::string>{"its callers: nothing is known", "what it calls: nothing is known"});
}

TEST_CASE(
    "a later look at a profile is unfolded, sorted and filtered as the one before, with the cursor at the same place") {
  const Look before(analysed()), after(analysed(10));
  const std::vector<uint32_t> same = prof::tui::same_functions(before, after);
  const auto tree = TreePane::of_all(before);
  tree->set_cursor(5);
  tree->take(typed("+"));  // tiny
  tree->set_cursor(1);
  tree->take(typed("-"));  // foo
  tree->set_cursor(4);
  REQUIRE(outline(*tree) == "- main|+ . foo|  . beta|- . tiny|  .   alpha|");
  const auto later = TreePane::of_all(after);
  later->resume(*tree, same);
  CHECK(outline(*later) == "- main|  . step|+ . foo|  . beta|- . tiny|  .   alpha|");
  CHECK(later->row(later->cursor()).starts_with("  .   alpha:"));

  TablePane table(before);
  table.take(typed("S"));
  table.set_filter(Query("a"));
  table.set_cursor(1);
  const std::string name = before.names[*table.function_at(1)];
  TablePane next(after);
  next.resume(table, same);
  CHECK(next.state() == table.state());
  CHECK(next.rows() == 3);
  CHECK(after.names[*next.function_at(next.cursor())] == name);

  // What is not there any more is left.
  const std::vector<uint32_t> back = prof::tui::same_functions(after, before);
  CHECK(std::count(back.begin(), back.end(), prof::tui::kNoFunction) == 1);
  next.set_filter(Query());
  next.find(Query("step"), true);
  TablePane last(before);
  last.resume(next, back);
  CHECK(last.rows() == 5);
  CHECK(last.cursor() < last.rows());
}
