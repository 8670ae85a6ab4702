// Which form of the hooks is in use.
//
// A program calls the hooks through words, `call *word(%rip)`, so that the choice of a form costs the calls nothing. In
// a static program, and for code that was linked with libprof.so, the words are ours, hook_words. A rewritten library
// calls them through _proflibin, _proflibout, _proflibtail and _proflibjump, which jump through more words of ours. A
// dynamic program has words of its own (kHooksTag in map.h says where), which the dynamic linker fills with _profin and
// _profout; these jump through our words, until the program's are found. Its words for _proftail and _profjump stay as
// they are.

#ifndef LIBPROF_HOOK_SELECTION_H
#define LIBPROF_HOOK_SELECTION_H

#include "libprof/data/state.h"

namespace libprof {

using Hook = void();

// The four that belong together: before the body of a function, before it returns, before a jump after the enter hook
// of another function, and before a jump that may lead anywhere.
struct Hooks {
  Hook *enter, *leave, *tail, *jump;
};

extern "C" {
void _profin();
void _profout();
void _proftail();
void _profjump();
void _proflibin();
void _proflibout();
void _proflibtail();
void _proflibjump();
}

// The words of the program: `words[0]` for _profin, `words[1]` for _profout. They get the hooks that are in use now.
void set_program_words(uint64_t* words);

// Whether a program with words of its own was found.
bool is_program_rewritten();

// Lets all hooks of this copy of libprof.so, of a program and of libraries, jump to others.
void forward_hooks(const Hooks& of_program, const Hooks& of_libraries);

// From now on the hooks of libraries do what those of the program do; until then, nothing.
void use_hooks_in_libraries();

// From now on the hooks do nothing.
void use_no_hooks();
bool are_hooks_off();

// Whether a call through that word is one of the enter hook, in this copy of libprof.so.
bool calls_enter_hook(const uint64_t* word);

// From now on the hooks ask where the thread pointer leads before they do what those in use do; or ask no more.
void let_hooks_ask(bool ask);
// What a hook that asks is to go on with; `word`: 0 for entering, 1 for leaving, 2 and 3 for tail calls and jumps.
Hook* hook_after_asking(uint64_t word);

// The hooks of profile_type, as things are: whether the counter may be read, whether anything tells of switches.
// `careful`: those that compare with State::barrier.
void use_hooks_of_type(bool careful);

// From now on hooks compare with State::barrier.
void use_careful_hooks();

}  // namespace libprof

#endif
