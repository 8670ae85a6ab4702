// Names of functions by address.
//
// Several symbols may lie at one address (aliases, weak and strong names, labels of assembly) or cover it. As gprof
// does, a global name is preferred to a local one, a function to a label, and fewer leading underscores to more.

#ifndef PROF_MODEL_SYMBOLS_H
#define PROF_MODEL_SYMBOLS_H

#include <cstdint>
#include <string>
#include <vector>

#include "prof/read/elf_file.h"

namespace prof {

class SymbolTable {
 public:
  void add(const ElfFile& file);  // before the first look-up; `file` must outlive this table
  void finish();                  // once, after the last add

  // The best symbol that starts at the address, else the innermost function symbol that covers it, else null.
  const Symbol* find(uint64_t address) const;

  // The first function of this name, or null.
  const Symbol* find_name(const std::string& name) const;

 private:
  std::vector<Symbol> symbols_;  // by address, the best at an address first
  std::vector<uint64_t> reach_;  // reach_[i]: the greatest end of symbols_[0..i]
};

// What the linkers call a symbol made readable: C++, Rust and D names demangled, a symbol version cut off.
std::string demangled(const char* name);

}  // namespace prof

#endif
