#include "linker-rewrite/names/pattern.h"

#include <doctest/doctest.h>

using prof_names::Filter;
using prof_names::Name;
using prof_names::Nearest;
using prof_names::Pattern;

namespace {

bool matches(const char* glob, const char* symbol) { return Pattern(glob).matches(Name(symbol)); }

std::string question(const char* glob, const std::vector<const char*>& symbols) {
  Nearest nearest{Pattern(glob)};
  for (const char* symbol : symbols) nearest.add(Name(symbol));
  return nearest.question();
}

// void std::sort<int*>(int*, int*)
constexpr char kSort[] = "_ZSt4sortIPiEvT_S1_";
// std::__cxx11::basic_string<char, ...>::append(char const*)
constexpr char kAppend[] = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc";
// ns::Class::method(int) const [clone .part.0]
constexpr char kMethod[] = "_ZNK2ns5Class6methodEi.part.0";

}  // namespace

TEST_CASE("a pattern matches a name with and without parameters, return type and template arguments") {
  for (const char* glob : {"sort", "std::sort", "std::sort<*>", "sort<int*>", "*sort*", "s?rt", "sort(int*, int*)",
                           "std::sort(*)", "std::sort<int*>(int*, int*)", "void std::sort<int*>(int*, int*)", "void *",
                           kSort, "_ZSt4sort*", "[s]ort", "*"})
    CHECK_MESSAGE(matches(glob, kSort), glob);
  for (const char* glob : {"sor", "ort", "td::sort", "stdsort", "*int*", "void*", "sort<long*>", "std",
                           "std::", "sort()", "std::sort<>", "int", ""})
    CHECK_MESSAGE(!matches(glob, kSort), glob);

  for (const char* glob : {"method", "Class::method", "ns::Class::method", "ns::*", "ns::Class::method(int)",
                           "method(int) const", "*method*", "ns::Class::method(int) const [clone .part.0]", kMethod})
    CHECK_MESSAGE(matches(glob, kMethod), glob);
  for (const char* glob : {"Class", "ns", "s::Class::method", "Class::*::method", "method(long)"})
    CHECK_MESSAGE(!matches(glob, kMethod), glob);

  for (const char* glob :
       {"append", "std::string::append", "std::__cxx11::basic_string::append", "string::append",
        "std::string::append(char const*)", "basic_string<char, *>::append",
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(char const*)"})
    CHECK_MESSAGE(matches(glob, kAppend), glob);
  CHECK(!matches("*string*(int)", kAppend));
}

TEST_CASE("a pattern matches operators, lambdas, and names of C, Rust, D, Fortran and Ada") {
  CHECK(matches("operator<", "_ZNK1AltERKS_"));
  CHECK(matches("A::operator<(A const&) const", "_ZNK1AltERKS_"));
  CHECK(!matches("operator<", "_ZNK1AlsERKS_"));
  CHECK(matches("operator()", "_ZNK1AclIiEET_S1_"));  // int A::operator()<int>(int) const
  CHECK(matches("A::operator()<int>", "_ZNK1AclIiEET_S1_"));
  CHECK(matches("operator[]", "_ZN1AixEi"));
  CHECK(matches("operator new[]", "_Znam"));
  CHECK(matches("main::{lambda(int)#1}::operator()", "_ZZ4mainENKUliE_clEi"));
  CHECK(matches("main::*", "_ZZ4mainENKUliE_clEi"));
  CHECK(matches("(anonymous namespace)::f", "_ZN12_GLOBAL__N_11fEv"));
  CHECK(matches("f", "_ZN12_GLOBAL__N_11fEv"));

  CHECK(matches("parse", "parse"));
  CHECK(matches("parse", "parse.constprop.0"));
  CHECK(matches("parse.constprop.0", "parse.constprop.0"));
  CHECK(!matches("parse.constprop.0", "parse"));
  CHECK(matches("parse", "parse._omp_fn.0"));
  CHECK(matches("parse", "parse.avx2.1"));
  CHECK(!matches("main", "main.run"));  // Go's
  CHECK(!matches("pars", "parse"));
  CHECK(matches("memcpy", "memcpy@@GLIBC_2.14"));
  CHECK(matches("#1139", "#1139"));
  CHECK(matches("\\#11*", "#1139"));
  CHECK(matches("[kernel]", "[kernel]"));

  CHECK(matches("largest", "_RINvCs2X9D8vaxzzw_7parcels7largestdEB2_"));  // parcels::largest::<f64>
  CHECK(matches("parcels::largest::<*>", "_RINvCs2X9D8vaxzzw_7parcels7largestdEB2_"));
  CHECK(matches("area", "_ZN50_$LT$parcels..Circle$u20$as$u20$parcels..Shape$GT$4area17hb05e791fb96c2f4cE"));
  CHECK(matches("parcels::Circle::area",
                "_ZN50_$LT$parcels..Circle$u20$as$u20$parcels..Shape$GT$4area17hb05e791fb96c2f4cE"));
  CHECK(matches("jobs.Circle.size", "_D4jobs6Circle4sizeMFZd"));
  CHECK(matches("size", "_D4jobs6Circle4sizeMFZd"));
  CHECK(matches("main", "_Dmain"));
  CHECK(matches("rods::*", "__rods_MOD_ackermann"));
  CHECK(matches("ackermann", "__rods_MOD_ackermann.constprop.0"));
  prof_names::Languages ada;
  ada.has_ada = true;
  CHECK(Pattern("crew.attempt").matches(Name("crew__attempt", ada)));
  CHECK(Pattern("attempt").matches(Name("crew__attempt", ada)));
}

TEST_CASE("a filter takes what matches, and leaves out what matches the others") {
  const auto selects = [](const Filter& filter, const char* symbol) {
    const Name name{symbol};
    return filter.selects({&name, 1});
  };
  CHECK(Filter().is_empty());
  CHECK(selects(Filter(), "f"));
  CHECK(selects(Filter({"f", "g"}, {}), "g"));
  CHECK(!selects(Filter({"f", "g"}, {}), "h"));
  CHECK(!selects(Filter({}, {"f"}), "f"));
  CHECK(selects(Filter({}, {"f"}), "g"));
  CHECK(!selects(Filter({"*"}, {"f"}), "f"));
  const std::vector<Name> aliases = {Name("f"), Name("_Z1gv")};
  CHECK(Filter({"g"}, {}).selects(aliases));
  CHECK(!Filter({"f"}, {"g"}).selects(aliases));
}

TEST_CASE("the nearest names are those of which the fewest characters differ") {
  const std::vector<const char*> symbols = {"main", "parse_line", "parse_lines", "print",
                                            kSort,  kMethod,      kAppend,       "_ZN1a4sortEv"};
  CHECK(question("prase_line", symbols) == "did you mean parse_line or parse_lines?");
  CHECK(question("std::srot", symbols) == "did you mean a::sort or std::sort?");
  CHECK(question("sort<long*>", symbols) == "did you mean a::sort or std::sort?");
  CHECK(question("Sort(char)", symbols) == "did you mean a::sort or std::sort?");
  CHECK(question("ns::Klass::method", symbols) == "did you mean ns::Class::method?");
  CHECK(question("line", symbols) == "did you mean parse_line or parse_lines?");
  CHECK(question("string::apend*", symbols) == "did you mean std::string::append?");
  CHECK(question("pain", symbols) == "did you mean main or print?");
  CHECK(question("completely_different", symbols) == "");
  CHECK(question("ns::apply", {"_Z5applyv", "_GLOBAL__sub_I__Z5applyRKSt3mapINSt7__cxx1112basic_stringIcEE"}) ==
        "did you mean apply?");
  CHECK(question("*", symbols) == "");
  CHECK(question("f", {"f1", "f2", "f3", "f4", "f5", "f6"}) == "did you mean f1, f2 or f3?");
}
