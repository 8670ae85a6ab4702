#include "prof/views/text/names.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "linker-rewrite/names/demangle.h"
#include "linker-rewrite/names/parts.h"

using prof::fitted;
using prof::simplified;

namespace {

// "type|path|path|parameters|rest"
std::string parts(const std::string& name) {
  const std::optional<prof_names::Brackets> brackets = prof_names::Brackets::find(name);
  REQUIRE(brackets);
  const prof_names::Parts p = prof_names::parts_of(name, *brackets);
  std::string text = std::string(p.type) + "|";
  for (std::string_view part : p.path) text += std::string(part) + "|";
  return text + std::string(p.parameters) + "|" + std::string(p.rest);
}

}  // namespace

TEST_CASE("names of the standard library are what people write") {
  const std::vector<std::vector<std::string>> names = {
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size() const",
       "std::string::size() const"},
      {"std::__1::basic_string<wchar_t, std::__1::char_traits<wchar_t>, std::__1::allocator<wchar_t> >::size() const",
       "std::wstring::size() const"},
      {"f(std::basic_string_view<char, std::char_traits<char> >, std::basic_string_view<char16_t, "
       "std::char_traits<char16_t> >)",
       "f(std::string_view, std::u16string_view)"},
      {"std::basic_ostream<char, std::char_traits<char> >& std::operator<< <std::char_traits<char> "
       ">(std::basic_ostream<char, std::char_traits<char> >&, char const*)",
       "std::ostream& std::operator<< <std::char_traits<char>>(std::ostream&, char const*)"},
      {"f(std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
       "std::vector<int, std::allocator<int> >, std::less<std::__cxx11::basic_string<char, std::char_traits<char>, "
       "std::allocator<char> > >, std::allocator<std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, "
       "std::allocator<char> > const, std::vector<int, std::allocator<int> > > > > const&)",
       "f(std::map<std::string, std::vector<int>> const&)"},
      {"f(std::unordered_map<int, long, std::hash<int>, std::equal_to<int>, std::allocator<std::pair<int const, long> "
       "> "
       ">, std::unique_ptr<A, std::default_delete<A> >)",
       "f(std::unordered_map<int, long>, std::unique_ptr<A>)"},
      {"std::_Rb_tree<int, std::pair<int const, long>, std::_Select1st<std::pair<int const, long> >, std::less<int>, "
       "std::allocator<std::pair<int const, long> > >::_M_erase(std::_Rb_tree_node<std::pair<int const, long> >*)",
       "std::_Rb_tree<int, std::pair<int const, long>>::_M_erase(std::_Rb_tree_node<std::pair<int const, long>>*)"},
      {"std::this_thread::sleep_for(std::chrono::duration<long, std::ratio<1l, 1000l> > const&)",
       "std::this_thread::sleep_for(std::chrono::milliseconds const&)"},
      {"std::chrono::_V2::system_clock::now()", "std::chrono::system_clock::now()"},
      {"std::filesystem::__cxx11::path::~path()", "std::filesystem::path::~path()"},
      {"A::name[abi:cxx11]() const", "A::name() const"},
      {"decltype ({parm#1}->x) g<A*>(A*)", "g<A*>(A*)"},
      {"decltype (((forward<int>)({parm#1}))<(3)) ns::h<int>(int&&)", "ns::h<int>(int&&)"},
      {"decltype(auto) visit<A>(A)", "visit<A>(A)"},
      {"std::vector<decltype (f())> g<A>()", "std::vector<decltype (f())> g<A>()"},
      {"<alloc::vec::Vec<u8, alloc::alloc::Global> as core::ops::drop::Drop>::drop",
       "<alloc::vec::Vec<u8> as core::ops::drop::Drop>::drop"},
  };
  for (const auto& name : names) CHECK(simplified(name[0]) == name[1]);
}

TEST_CASE("arguments that are not the default ones stay") {
  for (const char* name : {
           "f(std::vector<int, Pool<int>>)",
           "f(std::map<int, int, std::greater<int>>)",
           "f(std::map<int, int, std::less<long>>)",
           "f(std::unique_ptr<A, std::default_delete<B>>)",
           "f(std::pair<int, std::less<int>>)",
           "f(mine::vector<int, std::allocator<int>>)",
           "f(my_std::vector<int, std::allocator<int>>)",
           "std::allocator<int>::allocate(unsigned long)",
           "mine::__1::f()",
           "(anonymous namespace)::f()",
           "main",
           "",
       })
    CHECK(simplified(name) == name);
  CHECK(simplified("f(std::map<int, int, std::greater<int>, std::allocator<std::pair<int const, int> > >)") ==
        "f(std::map<int, int, std::greater<int>>)");
}

TEST_CASE("operators, shifts, lambdas and function pointers are no brackets where they are none") {
  for (const char* name : {
           "A::operator<(A const&) const",
           "bool A::operator<< <int>(int) const",
           "A::operator->()",
           "A* A::operator-><int>()",
           "int A::operator()<int>(int) const",
           "A::operator<=>(A const&) const",
           "bool operator><int>(A<int>, int)",
           "std::istream& operator>><int>(std::istream&)",
           "A::operator,(int)",
           "operator new[](unsigned long)",
           "B<((5)>(2))> h<5>(B<5>)",
           "B<(5)>>(2)> h<5>(B<5>)",
           "std::enable_if<(sizeof (char))<(3), int>::type e<char>(char)",
           "auto f(int) const::{lambda(auto:1)#1}::operator()<int>(int) const",
           "int (*fp<int>(int))(char)",
           "arr(int (&) [5], void (*)(int, char), int A::*, void (A::*)(int) const)",
           "f(std::function<void (int)>, std::vector<std::function<bool (A)>>(*)(A))",
           "<fn(&str) -> u8 as core::ops::function::FnOnce<(&str,)>>::call_once",
           "find::<'<'>",
           "package.\"<\"",
       }) {
    CHECK(prof_names::Brackets::find(name));
    CHECK(simplified(name) == name);
  }
  CHECK(!prof_names::Brackets::find("f(int"));
  CHECK(!prof_names::Brackets::find("f)"));
  CHECK(simplified("f(std::vector<int, std::allocator<int>") == "f(std::vector<int, std::allocator<int>");
  const std::string deep = std::string(100000, '<') + std::string(100000, '>');
  CHECK(simplified(deep) == deep);
}

TEST_CASE("a name is taken apart") {
  CHECK(parts("main") == "|main||");
  CHECK(parts("ns::f(int)") == "|ns|f|(int)|");
  CHECK(parts("void std::sort<int*>(int*, int*)") == "void |std|sort<int*>|(int*, int*)|");
  CHECK(parts("unsigned long f<int>() [clone .cold] [libz.so.1]") ==
        "unsigned long |f<int>|()| [clone .cold] [libz.so.1]");
  CHECK(parts("A<B::C>::f(int) const &") == "|A<B::C>|f|(int)| const &");
  CHECK(parts("A::operator std::string() const") == "|A|operator std::string|()| const");
  CHECK(parts("A::operator()(int)") == "|A|operator()|(int)|");
  CHECK(parts("bool A::operator<< <B::C>(int)") == "bool |A|operator<< <B::C>|(int)|");
  CHECK(parts("operator new(unsigned long)") == "|operator new|(unsigned long)|");
  CHECK(parts("int (*fp<int>(int))(char)") == "int (*|fp<int>|(int)|)(char)");
  CHECK(parts("auto A::f(int) const::{lambda(auto:1)#1}::operator()<int>(int) const") ==
        "auto |A|f(int) const|{lambda(auto:1)#1}|operator()<int>|(int)| const");
  CHECK(parts("(anonymous namespace)::f(A)::local") == "|(anonymous namespace)|f(A)|local||");
  CHECK(parts("(anonymous namespace)::f()") == "|(anonymous namespace)|f|()|");
  CHECK(parts("<A as B<C>>::drop") == "|<A as B<C>>|drop||");
  CHECK(parts("non-virtual thunk to A::f()") == "|non-virtual thunk to A|f|()|");
  CHECK(parts("std.stdio.File.open(int)") == "|std|stdio|File|open|(int)|");
}

TEST_CASE("a name is cut where it says least, and never longer than it may be") {
  const std::string name = "std::map<int, A<int>>& ns::f<std::vector<A<int>>, B>(std::vector<long>, char const*) const";
  CHECK(fitted(name, 200, true) == name);
  CHECK(fitted(name, 70, true) == "ns::f<std::vector<A<int>>, B>(std::vector<long>, char const*) const");
  CHECK(fitted(name, 66, true) == "ns::f<std::vector<A‹…›>, B>(std::vector<long>, char const*) const");
  CHECK(fitted(name, 64, true) == "ns::f<std::vector‹…›, B>(std::vector<long>, char const*) const");
  CHECK(fitted(name, 50, true) == "ns::f‹…›(std::vector‹…›, char const*) const");
  CHECK(fitted(name, 25, true) == "ns::f‹…›(…) const");
  CHECK(fitted(name, 25, false) == "ns::f<...>(...) const");
  CHECK(fitted(name, 12, false) == "ns:... const");
  CHECK(fitted("int ns::f<A>(long, char) const (inlined)", 30, true) == "ns::f<A>(…) const (inlined)");
  CHECK(fitted("long_name_of_c (inlined) [libc.so.6]", 32, true) == "long_name_of_c (inlined) [libc]");
  CHECK(fitted("long_name_of_c (inlined) [libc.so.6]", 27, true) == "long_n…f_c (inlined) [libc]");
  CHECK(fitted("_PyEval_EvalFrameDefault [libpython3.11.so.1.0]", 41, true) ==
        "_PyEval_EvalFrameDefault [libpython3.11]");
  CHECK(fitted("_PyEval_EvalFrameDefault [libpython3.11.so.1.0]", 33, false) == "_PyEva...lFrameDefault [libpy...]");
  CHECK(fitted("_PyEval_EvalFrameDefault [libpython3.11.so.1.0]", 15, true) == "_PyE…11.so.1.0]");
  CHECK(fitted("A::operator[](int) [clone .part.0]", 33, true) == "A::operator[](int) [clone .part…]");
  CHECK(fitted("a_name_of_c_that_is_long", 12, true) == "a_n…_is_long");
  CHECK(fitted("a_name_of_c_that_is_long", 1, true) == "a_…_long");
  CHECK(fitted("A<T>::method()", 10, false) == "A<...hod()");
  CHECK(fitted("ünïcödé_ünïcödé_ünïcödé", 10, true) == "ünï…nïcödé");
  CHECK(fitted("关数关数关数关数", 9, true) == "关…数关数");
  CHECK(fitted("f(" + std::string(30, '('), 8, false) == "f...((((");
  const std::string names[] = {name, "A::f(int) const::{lambda(auto:1)#1}::operator()<int>(int) const",
                               "ünïcödé_ünïcödé<ünïcödé>(关数关数关数关数)", std::string(100, '<')};
  for (const std::string& text : names)
    for (size_t columns = 8; columns < 100; ++columns)
      for (bool utf8 : {false, true}) CHECK(prof::columns_of(fitted(text, columns, utf8)) <= columns);
}

TEST_CASE("symbols are demangled by their first letters, or as the languages of their file have it") {
  using prof_names::demangled;
  CHECK(demangled("main") == "main");
  CHECK(demangled("foo.part.0") == "foo.part.0");
  CHECK(demangled("_start") == "_start");
  CHECK(demangled("memcpy@@GLIBC_2.14") == "memcpy");
  CHECK(demangled("_ZN3fooC2EiPKc") == "foo::foo(int, char const*)");
  CHECK(demangled("_Z3foov.constprop.0") == "foo() [clone .constprop.0]");
  CHECK(demangled("_ZN4core3fmt5write17h0123456789abcdefE") == "core::fmt::write");
  CHECK(demangled("_RNvCs1234_7mycrate3foo") == "mycrate::foo");
  CHECK(demangled("_Dmain") == "D main");
  CHECK(demangled("_D4jobs6Circle4sizeMFZd") == "jobs.Circle.size()");
  CHECK(demangled("_Z") == "_Z");
  CHECK(demangled("_D") == "_D");
  CHECK(demangled("") == "");

  CHECK(demangled("__rods_MOD_ackermann") == "rods::ackermann");
  CHECK(demangled("__rods_MOD_ackermann.constprop.0") == "rods::ackermann.constprop.0");
  CHECK(demangled("__rods_MOD___copy_rods_Ring") == "rods::__copy_rods_Ring");
  CHECK(demangled("__MOD_x") == "__MOD_x");
  CHECK(demangled("_ada_crew_main") == "crew_main");
  CHECK(demangled("solve_") == "solve_");
  CHECK(demangled("crew__attempt") == "crew__attempt");

  prof_names::Languages languages;
  for (const char* symbol : {"main", "gnat", "gfortran", "adainit_"}) languages.note(symbol);
  CHECK(!languages.has_ada);
  CHECK(!languages.has_fortran);
  languages.note("__gnat_malloc");
  CHECK(languages.has_ada);
  languages.note("_gfortran_st_write");
  CHECK(languages.has_fortran);
  CHECK(demangled("crew__attempt", languages) == "crew.attempt");
  CHECK(demangled("crew__attempt.part.0", languages) == "crew.attempt.part.0");
  CHECK(demangled("crew__Oeq__2", languages) == "crew.\"=\"");
  CHECK(demangled("crew__circleIP", languages) == "crew__circleIP");
  CHECK(demangled("solve_", languages) == "solve");
  CHECK(demangled("solve_.constprop.0", languages) == "solve.constprop.0");
  CHECK(demangled("MAIN__", languages) == "MAIN__");
  CHECK(demangled("_exit_", languages) == "_exit_");
  CHECK(demangled("main", languages) == "main");

  CHECK(prof_names::without_clone("f.constprop.1.isra.0") == "f");
  CHECK(prof_names::without_clone("f.cold") == "f");
  CHECK(prof_names::without_clone("f.llvm.1234") == "f");
  CHECK(prof_names::without_clone("curve.0") == "curve");
  CHECK(prof_names::without_clone("f.part.0.constprop.12") == "f");
  CHECK(prof_names::without_clone("f._omp_fn.0") == "f");
  CHECK(prof_names::without_clone("f.arch_haswell.1") == "f");
  CHECK(prof_names::without_clone("f.default") == "f");
  CHECK(prof_names::without_clone("main.run") == "main.run");      // Go's
  CHECK(prof_names::without_clone("main.init.0") == "main.init");  // Go's
  CHECK(prof_names::without_clone("f.H") == "f.H");
  CHECK(prof_names::without_clone("f.") == "f.");
  CHECK(prof_names::without_clone(".text") == ".text");
  CHECK(prof_names::without_clone("") == "");
}

TEST_CASE("lines are broken at blanks, and words that are too long are cut or kept") {
  CHECK(prof::wrapped("one two three", {}) == "one two three\n");
  CHECK(prof::wrapped("one two three", 13) == "one two three\n");
  CHECK(prof::wrapped("one two three", 12) == "one two\n  three\n");
  CHECK(prof::wrapped("gr\u00f6\u00dfe wert", 10) == "gr\u00f6\u00dfe wert\n");
  CHECK(prof::wrapped("a \u65e5\u672c\u8a9e\u306e \u95a2\u6570", 10) == "a \u65e5\u672c\u8a9e\u306e\n  \u95a2\u6570\n");
  CHECK(prof::wrapped("", 10) == "\n");
  CHECK(prof::wrapped("in /a/path/of/a/file lies", 10, prof::LongWords::kept) == "in\n  /a/path/of/a/file\n  lies\n");
  CHECK(prof::columns_of(prof::middle_cut(std::string(30, 'x'), 10, true)) == 10);
  CHECK(prof::middle_cut("0123456789abcdefghij", 10, false) == "01...fghij");
  for (size_t columns = 10; columns < 60; ++columns) {
    std::istringstream lines(
        prof::wrapped("B: /a/rather/long/path/of/a/program, mean of 3 runs: on a processor 1.2s of 3.4s", columns));
    for (std::string line; std::getline(lines, line);) CHECK(prof::columns_of(line) <= columns);
  }
}
