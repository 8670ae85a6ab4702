#include <doctest/doctest.h>

#include "prof/gprof/symbols/choose_symbols.h"
#include "prof/read/error.h"

using prof::gprof::ChosenSymbols;
using prof::gprof::Function;
using prof::gprof::NamedPlace;
using prof::gprof::Specs;
using prof::gprof::Subject;
using prof::gprof::Symspec;

namespace {

bool matches(const char* spec, const NamedPlace& place) { return Symspec(spec).matches(place); }

const NamedPlace kMix = {"_Z3mixi", "mix(int)", "/src/loops.c", 11};

std::vector<Function> three_functions() {
  std::vector<Function> functions(3);
  const char* names[] = {"main", "work", "mix"};
  for (unsigned i = 0; i < 3; ++i) {
    functions[i].name = names[i];
    functions[i].address = 0x1000 + 16 * i;
    functions[i].end = functions[i].address + 15;
    functions[i].file = i == 0 ? "/src/main.c" : "/src/loops.c";
    functions[i].line = 10 * i + 1;
  }
  return functions;
}

}  // namespace

TEST_CASE("a symspec names functions, lines and files") {
  for (const char* spec :
       {"mix", "mix(int)", "_Z3mixi", "loops.c", "11", "loops.c:mix", "loops.c:11", ":mix", "loops.c:", ""})
    CHECK_MESSAGE(matches(spec, kMix), spec);
  for (const char* spec : {"mi", "mixer", "loops", "loop.c", "12", "main.c:mix", "loops.c:12", "loops.c:max", ".c"})
    CHECK_MESSAGE(!matches(spec, kMix), spec);
  CHECK(matches("/src/loops.c", kMix));
  CHECK(matches(":mix.part.0", {"mix.part.0", "mix.part.0", "", 0}));
  CHECK(matches("ns::f", {"_ZN2ns1fEi", "ns::f(int)", "a.cc", 1}));
  CHECK(matches("a.cc:ns::f", {"_ZN2ns1fEi", "ns::f(int)", "a.cc", 1}));
  CHECK_THROWS_AS(Symspec("12x"), prof::Error);
  CHECK_THROWS_AS(Symspec("a.c:99999999999999"), prof::Error);
}

TEST_CASE("symspecs choose functions and arcs") {
  std::vector<std::string> remarks;
  Specs specs;
  specs[size_t(Subject::flat)].only = {"loops.c"};
  specs[size_t(Subject::graph)].except = {"mix"};
  specs[size_t(Subject::counts)].only = {"none"};
  specs[size_t(Subject::arcs)].except = {"main/work", "/mix"};
  const ChosenSymbols chosen = choose_symbols(specs, three_functions(), {}, remarks);
  CHECK(!chosen.report.flat.holds(0));
  CHECK(chosen.report.flat.holds(1));
  CHECK(chosen.report.graph.holds(0));
  CHECK(!chosen.report.graph.holds(2));
  CHECK(chosen.report.time.holds(2));
  CHECK(chosen.counts.holds(1));  // as in gprof: what matches nothing chooses nothing
  REQUIRE(chosen.report.keeps_arc);
  CHECK(!chosen.report.keeps_arc(0, 1));
  CHECK(!chosen.report.keeps_arc(0, 2));
  CHECK(!chosen.report.keeps_arc(1, 2));
  CHECK(chosen.report.keeps_arc(1, 0));
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0] == "none: matches no function");
}

TEST_CASE("only some arcs") {
  std::vector<std::string> remarks;
  Specs specs;
  specs[size_t(Subject::arcs)].only = {"main.c/loops.c"};
  const ChosenSymbols chosen = choose_symbols(specs, three_functions(), {}, remarks);
  REQUIRE(chosen.report.keeps_arc);
  CHECK(chosen.report.keeps_arc(0, 1));
  CHECK(!chosen.report.keeps_arc(1, 2));
  CHECK(remarks.empty());
}
