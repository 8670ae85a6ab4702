// The functions of a program as gprof takes them from its symbols, and the call graph that it makes of a profile with
// them.
//
// gprof knows no sizes: a function reaches to where the next one begins. So what is left out here belongs to the
// function in front of it, and to agree with gprof one has to leave out the same:
//
// - What is no symbol of code: of a section that may not be run, and not weak; indirect functions; undefined ones.
// - Local symbols with `$` in their names, or with `.` unless only digits follow, or .clone.N or .constprop.N. These
//   are the parts that compilers split off (foo.part.0, foo.cold).
// - All but one of the symbols at an address. The global one stays rather than the local, then the function rather than
//   the label, then the one without `_` in front, without `_` in the second place, and else the first in the file.
//
// Two faults of gprof 2.40 are here too, since the numbers would be others without them. It takes the last function to
// end where .text does. That is mostly _fini, in a section after .text, which so ends before it begins, and calls of it
// are lost. And of a local name that it accepts for the number after a dot it does not stop at the end, but looks
// through the next name of the string table as well. If there is a dot in that one, the function is mostly lost, as one
// with a dot of another kind is: so it depends on the names beside it whether gprof knows parse.constprop.0.
//
// Where gprof says that there are no symbols, in a stripped program, the names are those that prof knows: of the debug
// file, of .dynsym, or made of addresses.

#ifndef PROF_GPROF_SYMBOLS_SYMBOLS_H
#define PROF_GPROF_SYMBOLS_SYMBOLS_H

#include <string>
#include <vector>

#include "prof/gprof/graph/call_graph.h"
#include "prof/model/analysis/analysis.h"
#include "prof/read/elf_file.h"

namespace prof::gprof {

struct SymbolOptions {
  bool no_static = false;       // -a: local symbols are left out
  bool only_functions = false;  // -D: what is no function is left out
};

// By address, without duplicates. Empty if the file has no symbol of code.
std::vector<Function> symbols_of(const ElfFile& file, const SymbolOptions& options = {});

// From a text as nm(1) prints it, a symbol a line: gprof's -S. `text_end`: address of the last byte of the program's
// code.
std::vector<Function> symbols_of_text(const std::string& text, uint64_t text_end);

// Those of a program or library, in the original: gprof's if one of its files has symbols, else the names that its
// dynamic symbols have.
std::vector<Function> symbols_of(const Object& object, const SymbolOptions& options = {});

// The same, where a program without symbols has all functions that prof found in the run, too.
std::vector<Function> symbols_of(const Analysis& analysis, uint32_t object, const SymbolOptions& options = {});

// Sorts by address, keeps one function of those at an address, and sets where each ends if that is 0. `text_end`: where
// the last one does.
void settle_symbols(std::vector<Function>& functions, uint64_t text_end);

// Sets where the functions that are wanted stand in the source, if debug information in the file tells.
void add_sources(std::vector<Function>& functions, const ElfFile& file,
                 const std::function<bool(const Function&)>& wanted);

}  // namespace prof::gprof

#endif
