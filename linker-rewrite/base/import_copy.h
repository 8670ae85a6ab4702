// What stands in the new code for a function of another file.

#ifndef LINKER_REWRITE_BASE_IMPORT_COPY_H
#define LINKER_REWRITE_BASE_IMPORT_COPY_H

#include <string>

#include "address.h"

namespace profld {

struct ImportCopy {
  NewAddr start;  // of the code that calls the hooks for it
  uint64_t size;
  OldAddr original;        // the linker's stub that leads to it, or the word in the GOT that holds its address
  uint64_t original_size;  // bytes of the stub; 0 if it is a word
  std::string name;        // its symbol's
};

}  // namespace profld

#endif
