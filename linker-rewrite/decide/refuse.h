// Programs that cannot be rewritten as a whole.

#ifndef LINKER_REWRITE_DECIDE_REFUSE_H
#define LINKER_REWRITE_DECIDE_REFUSE_H

#include "linker-rewrite/elf/image.h"

namespace profld {

// Throws Error with the reason if the program's run-time system depends on where its code lies, or if it has been
// rewritten before.
void refuse_unsupported(const Image& image);

}  // namespace profld

#endif
