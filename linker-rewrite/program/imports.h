// Functions that a program calls through a word of its global offset table (GOT), which the dynamic linker, or the
// start-up code of a static program, fills in. See imports.cc.

#ifndef LINKER_REWRITE_PROGRAM_IMPORTS_H
#define LINKER_REWRITE_PROGRAM_IMPORTS_H

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "linker-rewrite/x86/decode.h"

namespace profld {

// The word that holds where the linker's stub at `stub` leads to; nullopt if there is no such stub.
std::optional<OldAddr> got_entry_of_stub(const Image& image, OldAddr stub);

// The symbol whose address goes into the word; null if it has none.
const Symbol* symbol_of_got_entry(const Image& image, OldAddr got_entry);

// The functions of other files that a dynamic program calls. A program, and more so a library, may also reach its own
// functions through the GOT; these are not among them.
class ImportTable {
 public:
  explicit ImportTable(const Image& image);

  bool empty() const { return of_word_.empty(); }

  // The symbol (index in Image::dynamic_symbols()) of the function that a call or a jump leads to, directly to a
  // linker's stub or through the word itself; nullopt if it leads elsewhere or that cannot be told.
  std::optional<uint32_t> symbol_called(const Code& code, const Insn& insn) const;

 private:
  const Image& image_;
  std::unordered_map<OldAddr, uint32_t> of_word_;  // symbols, by the words that hold their addresses
};

}  // namespace profld

#endif
