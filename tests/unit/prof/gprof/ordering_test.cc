#include "prof/gprof/report/ordering.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "prof/read/error.h"

using prof::gprof::add_arc;
using prof::gprof::CallGraph;

namespace {

std::string printed(const std::function<void(prof::Output&)>& print) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file);
  prof::Output out(file, "test");
  print(out);
  out.finish();
  std::rewind(file);
  std::string text;
  for (int c; (c = std::fgetc(file)) != EOF;) text += char(c);
  std::fclose(file);
  return text;
}

CallGraph graph_of(unsigned count, const std::vector<std::array<unsigned, 3>>& arcs) {
  CallGraph graph;
  graph.function_count = count;
  graph.functions.resize(count);
  for (unsigned i = 0; i < count; ++i) graph.functions[i].name = std::string(1, char('a' + i));
  for (const auto& [caller, callee, calls] : arcs) {
    graph.functions[callee].calls += calls;
    add_arc(graph, caller, callee, calls);
  }
  return graph;
}

std::string order_of(const CallGraph& graph) {
  std::string order = printed([&](prof::Output& out) { print_function_order(graph, out); });
  std::erase(order, '\n');
  return order;
}

}  // namespace

TEST_CASE("functions that call each other often are near each other") {
  // a calls d most, d calls b; c is not called.
  CHECK(order_of(graph_of(4, {{0, 3, 1000}, {3, 1, 900}})) == "adbc");
  // Two chains: the ends that meet are those of the arc.
  CHECK(order_of(graph_of(5, {{0, 1, 1000}, {2, 3, 900}, {3, 0, 800}})) == "cdabe");
}

TEST_CASE("each function is there once") {
  std::string order = order_of(graph_of(6, {{0, 1, 5}, {1, 0, 5}, {2, 2, 7}, {3, 1, 1}, {0, 4, 0}}));
  std::sort(order.begin(), order.end());
  CHECK(order == "abcdef");
  CHECK(order_of(graph_of(0, {})).empty());
}

TEST_CASE("gprof's order leaves an arc between two chains") {
  const auto order = [](const CallGraph& graph) {
    std::string text = printed([&](prof::Output& out) { print_gprof_function_order(graph, out); });
    std::erase(text, '\n');
    return text;
  };
  // a calls b, c calls d; then d and a, which are in chains already.
  CHECK(order(graph_of(5, {{0, 1, 1000}, {2, 3, 900}, {3, 0, 800}, {4, 2, 1}})) == "abcde");
  // What is not called is printed with what it calls, and at the end again.
  CHECK(order(graph_of(4, {{1, 2, 10}, {2, 3, 900}, {3, 1, 900}})) == "cdba");
  CHECK(order(graph_of(0, {})).empty());
}

TEST_CASE("object files") {
  const std::string path = "objects.map";
  std::ofstream(path)
      << "y.o:0000000000000000 T a\nx.o:0000000000000000 T b\nx.o:0000000000000010 t c\nnothing\nz.o:1 T q\n";
  const auto objects = prof::gprof::read_object_map(path);
  CHECK(objects.size() == 4);
  const CallGraph graph = graph_of(3, {{1, 2, 10}, {1, 0, 5}});
  CHECK(printed([&](prof::Output& out) { print_file_order(graph, objects, out); }) == "x.o\ny.o\nz.o\n");
  std::ofstream(path) << "nothing\n";
  CHECK_THROWS_AS(prof::gprof::read_object_map(path), prof::Error);
  std::remove(path.c_str());
  CHECK_THROWS_AS(prof::gprof::read_object_map(path), prof::Error);
}
