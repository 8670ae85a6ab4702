// Which form of the hooks is in use.
//
// A program calls the hooks through two words, `call *word(%rip)`, so that the choice of a form costs the calls
// nothing. In a static program, and for code that was linked with libprof.so, the words are ours, enter_hook and
// leave_hook. A rewritten library calls them through _proflibin and _proflibout, which jump through two more words of
// ours. A dynamic program has words of its own (kHooksTag in map.h says where), which the dynamic linker fills
// with _profin and _profout; these jump through our words, until the program's are found.

#ifndef LIBPROF_HOOK_SELECTION_H
#define LIBPROF_HOOK_SELECTION_H

#include "state.h"

namespace libprof {

using Hook = void();

// The words of the program: `words[0]` for _profin, `words[1]` for _profout. They get the hooks that are in use now.
void set_program_words(uint64_t* words);

// Whether a program with words of its own was found.
bool is_program_rewritten();

// Lets all hooks of this copy of libprof.so, of a program and of libraries, jump to others.
void forward_hooks(Hook* enter, Hook* leave, Hook* library_enter, Hook* library_leave);

// From now on the hooks of libraries do what those of the program do; until then, nothing.
void use_hooks_in_libraries();

// From now on the hooks do nothing.
void use_no_hooks();
bool are_hooks_off();

// The hooks of profile_type, as things are: whether the counter may be read, whether anything tells of switches.
// `careful`: those that compare with State::barrier.
void use_hooks_of_type(bool careful);

// From now on hooks compare with State::barrier.
void use_careful_hooks();

}  // namespace libprof

#endif
