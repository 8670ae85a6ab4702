// Dynamic symbols of copies, for programs that ask for the name of the function that a return address lies in (dladdr,
// backtrace_symbols). copy_names.cc says why nobody else finds them.

#ifndef LINKER_REWRITE_WRITE_COPY_NAMES_H
#define LINKER_REWRITE_WRITE_COPY_NAMES_H

#include <string>
#include <vector>

#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/program/program.h"

namespace profld {

// A piece of code that moves, and a dynamic symbol that names it.
struct NamedPart {
  uint32_t symbol;  // index in Image::dynamic_symbols()
  OldRange part;    // what the symbol covers of one range; empty if the symbol has no size
};

// In the order of the symbols; the pieces of one symbol in ascending order. To be called when it is known what moves.
std::vector<NamedPart> named_parts(const Program& program);

// The symbol for the copy of such a part: `original` with its value and size.
Elf64_Sym symbol_of_copy(Elf64_Sym original, const NamedPart& part, const CopyMap& copies);

// The symbols that a DT_GNU_HASH table leads to.
struct GnuHashTable {
  uint32_t buckets = 0, bloom_words = 0;
  uint32_t first = 0, end = 0;  // indexes of symbols; equal if there are none

  static GnuHashTable read(ByteView table);  // throws Error if it is damaged
  uint64_t size() const { return 16 + uint64_t(bloom_words) * 8 + (uint64_t(buckets) + end - first) * 4; }  // bytes
  uint64_t size_with(uint64_t symbols) const { return size() + (symbols - end) * 4; }
};

// `bytes`, such a table, made to lead to all symbols from its end on, whose names these are (at least one), but never by
// their names.
void append_unfindable(Bytes& bytes, const GnuHashTable& table, const std::vector<std::string>& names);

}  // namespace profld

#endif
