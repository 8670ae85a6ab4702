// Names of functions by address.
//
// Several symbols may lie at one address (aliases, weak and strong names, labels of assembly) or cover it. Shown is the
// one that a person would write: a function rather than a label, a name that other files may use rather than a local
// one, of the version that programs are linked with today, that the program itself uses, with the fewest leading
// underscores, strong rather than weak, short. So of `free`, `__libc_free` and `cfree`, which are one function of the C
// library, it is `free`.

#ifndef PROF_MODEL_PROGRAM_SYMBOLS_H
#define PROF_MODEL_PROGRAM_SYMBOLS_H

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "linker-rewrite/names/demangle.h"
#include "prof/read/elf_file.h"

namespace prof {

class SymbolTable {
 public:
  void add(const ElfFile& file);  // before the first look-up; `file` must outlive this table

  // Once, after the last add. `used`: names by which the program calls functions of libraries.
  void finish(const std::set<std::string, std::less<>>& used = {});

  // The best symbol that starts at the address, else the innermost function symbol that covers it, else null.
  const Symbol* find(uint64_t address) const;

  // The same for an address of any instruction: a label within a function is none of its own.
  const Symbol* find_containing(uint64_t address) const;

  // The last symbol up to an address, if its size is not known: a function's (as _fini), or a label of assembly; else
  // null.
  const Symbol* last_without_size(uint64_t address) const;

  // The first function of this name, or null.
  const Symbol* find_name(const std::string& name) const;

  // Those that have functions in the files.
  prof_names::Languages languages() const { return languages_; }

 private:
  const Symbol* function_around(uint64_t address) const;  // that begins before it

  std::vector<Symbol> symbols_;  // by address, the best at an address first
  std::vector<uint64_t> reach_;  // reach_[i]: the greatest end of symbols_[0..i]
  prof_names::Languages languages_;
};

}  // namespace prof

#endif
