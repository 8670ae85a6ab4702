// Programs that cannot be rewritten as a whole.

#ifndef LINKER_REWRITE_DECIDE_REFUSE_H
#define LINKER_REWRITE_DECIDE_REFUSE_H

#include "linker-rewrite/elf/image.h"

namespace profld {

// Throws Error with the reason if the image is no program, has been rewritten before, or has a run-time system that
// depends on where its code lies.
void refuse_unsupported(const Image& image);

}  // namespace profld

#endif
