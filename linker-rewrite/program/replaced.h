// Functions of the C library that libprof.so has in their place: those by which programs give up the right to make
// system calls (libprof/life/sandbox.cc). In a rewritten program libprof.so stands before the C library in the search
// for symbols. But a program that is not rewritten may call these functions of a C library that is, and then go on to
// its hooks. So in the copy of the C library they begin with a jump to those of libprof.so.

#ifndef LINKER_REWRITE_PROGRAM_REPLACED_H
#define LINKER_REWRITE_PROGRAM_REPLACED_H

#include <vector>

#include "linker-rewrite/base/bytes.h"
#include "linker-rewrite/elf/image.h"
#include "program.h"

namespace profld {

struct ReplacedFunction {
  const char* name;
  const char* replacement;  // the symbol of libprof.so's
  OldAddr address;
};

// Of the C library; none of other files.
std::vector<ReplacedFunction> replaced_functions(const Image& image);

// The jumps. `slots`: the word that holds the address of the first replacement, those of the others after it. The
// functions must stay where they are. Throws Error if one of them has no room for a jump.
std::vector<Patch> replacement_patches(const Program& program, NewAddr slots);

}  // namespace profld

#endif
