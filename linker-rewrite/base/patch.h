// A change to bytes of the original that stay mapped where they are: entry jumps, redirected pointers to code.

#ifndef LINKER_REWRITE_BASE_PATCH_H
#define LINKER_REWRITE_BASE_PATCH_H

#include "address.h"
#include "bytes.h"

namespace profld {

struct Patch {
  FileOffset at;
  Bytes bytes;
};

}  // namespace profld

#endif
