// The part of a program that V8 (node) compiled ahead of time for its own use.

#ifndef LINKER_REWRITE_DECIDE_V8_H
#define LINKER_REWRITE_DECIDE_V8_H

#include "linker-rewrite/elf/image.h"

namespace profld {

// The code of V8's built-in functions; empty if the program has none, or no symbols that tell (then nothing names these
// functions either, and they stay because nobody knows of them).
OldRange v8_builtins(const Image& image);

}  // namespace profld

#endif
