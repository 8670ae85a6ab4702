// What a program calls through a word that the dynamic linker, or the start-up code of a static program, fills in.

#ifndef LINKER_REWRITE_PROGRAM_IMPORTS_H
#define LINKER_REWRITE_PROGRAM_IMPORTS_H

#include <optional>

#include "linker-rewrite/elf/image.h"

namespace profld {

// The word through which the linker's stub at `stub` jumps; nullopt if there is no such stub.
std::optional<OldAddr> slot_of_stub(const Image& image, OldAddr stub);

// What fills in the word at `slot`; null if nothing does.
const Relocation* relocation_of_slot(const Image& image, OldAddr slot);

// The symbol whose address goes into the word; null if it has none.
const Symbol* symbol_of_slot(const Image& image, OldAddr slot);

}  // namespace profld

#endif
