// What compilers and linkers call a function, made readable, and what its author did not write left out.
//
// C++, Rust and D say by the first letters of a symbol that it is theirs, and the procedures of Fortran's modules are
// called __module_MOD_procedure. Other names of Fortran and those of Ada are made of plain letters, as names of C are:
// solve_, queue__put. What they mean depends on the file that they are in, which calls the run-time library of its
// language.
//
// The demangler is libiberty's, of GNU binutils, which the c++filt there is made of.

#ifndef NAMES_DEMANGLE_H
#define NAMES_DEMANGLE_H

#include <string>
#include <string_view>

namespace prof_names {

// In which languages, of those whose names look like names of C, a file may have functions.
class Languages {
 public:
  // Of each symbol of the file, defined or not.
  void note(std::string_view symbol);

  bool has_ada = false, has_fortran = false;
};

// The symbol made readable, in a file of these languages; without a symbol's version. Symbols of C stay as they are,
// and so does what a compiler put after them: solve.part.0, and of C++ solve() [clone .part.0].
std::string demangled(const std::string& symbol, Languages languages = {});

// As the programs of GNU binutils show it, gprof for one: names of C++ and Rust made readable, all others left as they
// are.
std::string demangled_by_binutils(const std::string& symbol);

// A symbol without what compilers append to those of clones and parts: solve of solve.part.0.constprop.2.
std::string_view without_clone(std::string_view symbol);

// A demangler writes out what a compiler has made of `std::map<std::string, int>`: the inline namespace of the library
// (std::__cxx11::), the template after std::string, and the arguments that nobody gave: the comparison and the
// allocator. Here these are left out, and so are ABI tags, and a return type that is an expression (decltype). An
// argument that is not the default one stays.
//
// The result is a demangled name without what its author did not write. Names of other languages than C++ hardly
// change; a name whose brackets do not match stays as it is.
std::string simplified(const std::string& demangled);

}  // namespace prof_names

#endif
