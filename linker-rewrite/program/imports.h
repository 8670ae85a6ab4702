// Functions that a program calls through a word of its global offset table (GOT), which the dynamic linker, or the
// start-up code of a static program, fills in.

#ifndef LINKER_REWRITE_PROGRAM_IMPORTS_H
#define LINKER_REWRITE_PROGRAM_IMPORTS_H

#include <optional>

#include "linker-rewrite/elf/image.h"

namespace profld {

// The word through which the linker's stub at `stub` jumps; nullopt if there is no such stub.
std::optional<OldAddr> got_entry_of_stub(const Image& image, OldAddr stub);

// The relocation that fills in the word; null if there is none.
const Relocation* relocation_of_got_entry(const Image& image, OldAddr got_entry);

// The symbol whose address goes into the word; null if it has none.
const Symbol* symbol_of_got_entry(const Image& image, OldAddr got_entry);

}  // namespace profld

#endif
