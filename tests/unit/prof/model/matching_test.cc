#include "prof/model/compare/matching.h"

#include <doctest/doctest.h>

using prof::kNoFunction;
using prof::match;
using prof::MatchedFunction;

namespace {

MatchedFunction function(const std::string& raw_name, uint64_t address, double calls = 1, const std::string& id = "") {
  MatchedFunction f;
  f.name = f.raw_name = raw_name;
  f.build_id = id;
  f.address = address;
  f.calls = calls;
  return f;
}

MatchedFunction of_module(MatchedFunction f, const std::string& module) {
  f.module = module;
  return f;
}

MatchedFunction nameless(uint64_t address, const std::string& id) {
  MatchedFunction f = function("#" + std::to_string(address), address, 1, id);
  f.has_name = false;
  return f;
}

using Indices = std::vector<uint32_t>;

}  // namespace

TEST_CASE("matching: names tell, wherever functions moved to, and modules keep them apart") {
  const std::vector<MatchedFunction> a = {function("f", 1), function("g", 2), of_module(function("f", 1), "libz.so.1")};
  const std::vector<MatchedFunction> b = {of_module(function("f", 9), "libz.so.1"), function("g", 1), function("h", 2),
                                          function("f", 3)};
  CHECK(match(a, b) == Indices{2, 1, kNoFunction, 0});
  CHECK(match({}, b) == Indices(4, kNoFunction));
  CHECK(match(a, {}).empty());
}

TEST_CASE("matching: in one build addresses tell, also of functions with one name or none") {
  // Of two local functions `f' only the second was called in the first run.
  const std::vector<MatchedFunction> a = {function("f", 20, 1, "id"), nameless(30, "id"), nameless(40, "id")};
  const std::vector<MatchedFunction> b = {function("f", 10, 1, "id"), function("f", 20, 1, "id"), nameless(40, "id")};
  CHECK(match(a, b) == Indices{kNoFunction, 0, 2});
  // In another build the name made of an address means nothing.
  CHECK(match({nameless(30, "id")}, {nameless(30, "other")}) == Indices{kNoFunction});
}

TEST_CASE("matching: several functions of one name are matched in order of their addresses") {
  CHECK(match({function("f", 20), function("f", 10)}, {function("f", 7), function("f", 8), function("f", 9)}) ==
        Indices{1, 0, kNoFunction});
}

TEST_CASE("matching: clones and parts are found, whole functions first, the busiest with the busiest") {
  CHECK(match({function("foo", 1)}, {function("foo.constprop.0", 5)}) == Indices{0});
  CHECK(match({function("foo.isra.0", 1)}, {function("foo.part.0.constprop.3", 5)}) == Indices{0});
  CHECK(match({function("foo.part.0", 1), function("foo", 2)}, {function("foo.cold", 5), function("foo", 6)}) ==
        Indices{0, 1});
  CHECK(match({function("foo", 1)}, {function("foo.cold", 5), function("foo", 6)}) == Indices{kNoFunction, 0});
  CHECK(match({function("foo.constprop.0", 1, 10), function("foo.constprop.1", 2, 900)},
              {function("foo.isra.0", 1, 800), function("foo.isra.1", 2, 9)}) == Indices{1, 0});
  // GCC's name of a local function within another one, which it numbers.
  CHECK(match({function("compare.0", 1)}, {function("compare.2041", 1)}) == Indices{0});
  CHECK(match({function("foo.constprop.0", 1)}, {function("bar.constprop.0", 1)}) == Indices{kNoFunction});
}

TEST_CASE("matching: another list of parameters, and other numbers of lambdas") {
  CHECK(match({function("_ZN1n3fooEi", 1)}, {function("_ZN1n3fooEil", 1)}) == Indices{0});
  CHECK(match({function("_ZN1n3fooEi", 1)}, {function("_ZN1m3fooEi", 1)}) == Indices{kNoFunction});
  CHECK(match({function("_ZZ4mainENKUliE_clEi", 1)}, {function("_ZZ4mainENKUliE0_clEi", 1)}) == Indices{0});
  // An overload that is still there is not taken for another one.
  CHECK(match({function("_Z3fooi", 1), function("_Z3fool", 2)}, {function("_Z3food", 1), function("_Z3fooi", 2)}) ==
        Indices{1, 0});
}

TEST_CASE("matching: what is cut off a name") {
  CHECK(prof::without_parameters("n::foo<int (*)(char)>(int, void (*)(int)) const [clone .isra.0] [clone .cold]") ==
        "n::foo<int (*)(char)>");
  CHECK(prof::without_parameters("foo") == "foo");
  CHECK(prof::without_parameters("A::operator()(int) &&") == "A::operator()");
  CHECK(prof::without_parameters("A::operator()") == "A::operator()");
  CHECK(prof::without_parameters("void n::foo<int>(int)") == "n::foo<int>");
  CHECK(prof::without_parameters(")") == ")");
  CHECK(prof::without_parameters("core::fmt::write::h0123456789abcdef") == "core::fmt::write");
  CHECK(prof::without_numbers("main::{lambda(int)#12}::operator()(int) const") == "main::{lambda(int)#}::operator()");
  CHECK(prof::without_numbers("test_1") == "test_1");
}
