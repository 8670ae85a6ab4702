// The part of a program that V8 (node) compiled ahead of time for its own use.

#ifndef LINKER_REWRITE_DECIDE_V8_H
#define LINKER_REWRITE_DECIDE_V8_H

#include "linker-rewrite/elf/image.h"

namespace profld {

// The code of V8's built-in functions. Empty if the program has none, or no symbols that tell. (Without symbols these
// functions are not found at all, and so they stay.)
OldRange v8_builtins(const Image& image);

}  // namespace profld

#endif
