// Which form of the hooks is in use.
//
// A program calls the hooks through two words, `call *word(%rip)`, so that the choice of a form costs the calls
// nothing. In a static program, and for code that was linked with libprof.so, the words are ours, enter_hook and
// leave_hook. A dynamic program has words of its own (kHooksTag in map.h says where), which the dynamic linker fills
// with _profin and _profout; these jump through our words, until the program's are found.

#ifndef LIBPROF_HOOK_SELECTION_H
#define LIBPROF_HOOK_SELECTION_H

#include "state.h"

namespace libprof {

using Hook = void();

// The words of the program: `words[0]` for _profin, `words[1]` for _profout. They get the hooks that are in use now.
void set_program_words(uint64_t* words);

void use_hooks(Hook* in, Hook* out);
// Changes the entering hook if it is `from`.
void replace_enter_hook(Hook* from, Hook* to);

}  // namespace libprof

#endif
