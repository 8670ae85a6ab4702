#include "hook_selection.h"

#include "leaving.h"
#include "libprof/clock/switches.h"
#include "libprof/clock/tsc.h"
#include "libprof/profile_type.h"

namespace libprof {

// In assembler: hooks.S says where. Hidden, as get_state is (state.h).
#pragma GCC visibility push(hidden)
extern "C" {
extern uint64_t hook_words[4], library_hook_words[4];  // addresses of the hooks in use
void enter_elapsed();
void leave_elapsed();
void leave_leaving();
void enter_count();
void leave_count();
void enter_elapsed_carefully();
void enter_count_carefully();
void enter_time();
void enter_time_carefully();
void leave_time();
void enter_time_asking();
void enter_time_asking_carefully();
void leave_time_asking();
void enter_adaptive();
void enter_adaptive_carefully();
void leave_adaptive();
void tail_elapsed();
void tail_count();
void tail_time();
void tail_time_asking();
void tail_adaptive();
void jump_anywhere();
void enter_without_tsc();
void leave_without_tsc();
void tail_without_tsc();
void hook_off();
void ask_and_enter();
void ask_and_leave();
void ask_and_tail();
void ask_and_jump();
}
#pragma GCC visibility pop

namespace {

enum Word { kEnter, kLeave, kTail, kJump };
constexpr Word kWords[] = {kEnter, kLeave, kTail, kJump};

// What our words hold if no hooks ask (thread_pointer.cc).
Hook* chosen[] = {enter_elapsed, leave_elapsed, tail_elapsed, jump_anywhere};
constexpr Hook* kAsking[] = {ask_and_enter, ask_and_leave, ask_and_tail, ask_and_jump};
bool do_hooks_ask;
Hook* known_careful;  // an enter hook that is not plain

uint64_t* program_words;
bool are_libraries_hooked;

void use_hook(Word word, Hook* to) {
  store(&chosen[word], to);
  const auto hook = reinterpret_cast<uint64_t>(do_hooks_ask ? kAsking[word] : to);
  store(&hook_words[word], hook);
  if (program_words && word <= kLeave) store(&program_words[word], hook);
  if (are_libraries_hooked) store(&library_hook_words[word], hook);
}

void use_hooks(const Hooks& hooks) {
  use_hook(kEnter, hooks.enter);
  use_hook(kLeave, hooks.leave);
  use_hook(kTail, hooks.tail);
  use_hook(kJump, hooks.jump);
}

void use_hooks_again() {
  for (Word word : kWords) use_hook(word, chosen[word]);
}

struct Forms {
  Hook *plain, *careful;
};
constexpr Forms kEnterHooks[] = {{enter_elapsed, enter_elapsed_carefully},
                                 {enter_time, enter_time_carefully},
                                 {enter_time_asking, enter_time_asking_carefully},
                                 {enter_count, enter_count_carefully},
                                 {enter_adaptive, enter_adaptive_carefully}};

}  // namespace

void set_program_words(uint64_t* words) {
  program_words = words;
  use_hooks_again();
}

bool is_program_rewritten() { return program_words != nullptr; }

void forward_hooks(const Hooks& of_program, const Hooks& of_libraries) {
  use_hooks(of_program);
  store(&library_hook_words[kEnter], reinterpret_cast<uint64_t>(of_libraries.enter));
  store(&library_hook_words[kLeave], reinterpret_cast<uint64_t>(of_libraries.leave));
  store(&library_hook_words[kTail], reinterpret_cast<uint64_t>(of_libraries.tail));
  store(&library_hook_words[kJump], reinterpret_cast<uint64_t>(of_libraries.jump));
}

void use_hooks_in_libraries() {
  are_libraries_hooked = true;
  use_hooks_again();
}

void use_no_hooks() { use_hooks({hook_off, hook_off, hook_off, hook_off}); }

bool are_hooks_off() { return chosen[kEnter] == hook_off; }

void let_hooks_ask(bool ask) {
  store(&do_hooks_ask, ask);
  use_hooks_again();
}

Hook* hook_after_asking(uint64_t word) { return load(&chosen[word]); }

bool calls_enter_hook(const uint64_t* word) {
  const uint64_t hook = load(word);
  return word == &hook_words[kEnter] || word == program_words || hook == reinterpret_cast<uint64_t>(_profin) ||
         hook == reinterpret_cast<uint64_t>(_proflibin);
}

void use_hooks_of_type(bool careful) {
  const bool is_stopped = tsc_stopped_at != 0;
  const auto use = [careful](Hook* enter, Hook* enter_carefully, Hook* leave, Hook* tail) {
    use_hooks({careful ? enter_carefully : enter, leave, tail, jump_anywhere});
  };
  constexpr Hooks kWithoutStamps = {enter_without_tsc, leave_without_tsc, tail_without_tsc, jump_anywhere};
  switch (prof_format::Type(profile_type)) {  // no default: the compiler tells of a type that has no hooks here
    case prof_format::kTime:
    case prof_format::kCpu:
      if (is_stopped) return use_hooks(kWithoutStamps);
      if (are_switches_unseen())
        return use(enter_time_asking, enter_time_asking_carefully, leave_time_asking, tail_time_asking);
      return use(enter_time, enter_time_carefully, leave_time, tail_time);
    case prof_format::kElapsed:
      if (is_stopped) return use_hooks(kWithoutStamps);
      return use(enter_elapsed, enter_elapsed_carefully, leave_elapsed, tail_elapsed);
    case prof_format::kAdaptive:
      if (is_stopped) return use(enter_count, enter_count_carefully, leave_count, tail_count);
      return use(enter_adaptive, enter_adaptive_carefully, leave_adaptive, tail_adaptive);
    case prof_format::kAddresses:
      if (hooks_leave && is_stopped) return use_hooks(kWithoutStamps);
      if (hooks_leave) return use(enter_elapsed, enter_elapsed_carefully, leave_leaving, tail_elapsed);
      if (has_leaving_hooks()) break;
      [[fallthrough]];
    case prof_format::kCount:
    case prof_format::kSample:
      return use(enter_count, enter_count_carefully, leave_count, tail_count);
    case prof_format::kUser:
      break;  // there are none yet
  }
  use_no_hooks();
}

// All forms, not those of the type as things are now: another thread may be changing them.
void use_careful_hooks() {
  Hook* enter = load(&chosen[kEnter]);
  if (enter == load(&known_careful)) return;
  bool is_plain = false;
  for (const Forms& forms : kEnterHooks) {
    if (enter == forms.plain) is_plain = true;
    if (load(&chosen[kEnter]) == forms.plain) use_hook(kEnter, forms.careful);
  }
  if (!is_plain) store(&known_careful, enter);
}

}  // namespace libprof
