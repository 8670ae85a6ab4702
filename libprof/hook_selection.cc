#include "hook_selection.h"

#include "profile_type.h"
#include "switches.h"

namespace libprof {

namespace {

uint64_t* program_words;
bool are_libraries_hooked;

void use_enter_hook(uint64_t in) {
  store(&enter_hook, in);
  if (program_words) store(&program_words[0], in);
  if (are_libraries_hooked) store(&library_enter_hook, in);
}

void use_leave_hook(uint64_t out) {
  store(&leave_hook, out);
  if (program_words) store(&program_words[1], out);
  if (are_libraries_hooked) store(&library_leave_hook, out);
}

void use_hooks(Hook* in, Hook* out) {
  use_enter_hook(reinterpret_cast<uint64_t>(in));
  use_leave_hook(reinterpret_cast<uint64_t>(out));
}

void replace_enter_hook(Hook* from, Hook* to) {
  if (enter_hook == reinterpret_cast<uint64_t>(from)) use_enter_hook(reinterpret_cast<uint64_t>(to));
}

}  // namespace

void set_program_words(uint64_t* words) {
  program_words = words;
  use_enter_hook(enter_hook);
  use_leave_hook(leave_hook);
}

bool is_program_rewritten() { return program_words != nullptr; }

void forward_hooks(Hook* enter, Hook* leave, Hook* library_enter, Hook* library_leave) {
  use_hooks(enter, leave);
  store(&library_enter_hook, reinterpret_cast<uint64_t>(library_enter));
  store(&library_leave_hook, reinterpret_cast<uint64_t>(library_leave));
}

void use_hooks_in_libraries() {
  are_libraries_hooked = true;
  use_enter_hook(enter_hook);
  use_leave_hook(leave_hook);
}

void use_no_hooks() { use_hooks(hook_off, hook_off); }

bool are_hooks_off() { return enter_hook == reinterpret_cast<uint64_t>(&hook_off); }

void use_hooks_of_type(bool careful) {
  const bool is_stopped = tsc_stopped_at != 0;
  const auto use = [careful](Hook* enter, Hook* enter_carefully, Hook* leave) {
    use_hooks(careful ? enter_carefully : enter, leave);
  };
  switch (prof_format::Type(profile_type)) {  // no default: the compiler tells of a type that has no hooks here
    case prof_format::kTime:
    case prof_format::kCpu:
      if (is_stopped) return use_hooks(enter_without_tsc, leave_without_tsc);
      if (are_switches_unseen()) return use(enter_time_asking, enter_time_asking_carefully, leave_time_asking);
      return use(enter_time, enter_time_carefully, leave_time);
    case prof_format::kElapsed:
      if (is_stopped) return use_hooks(enter_without_tsc, leave_without_tsc);
      return use(enter_elapsed, enter_elapsed_carefully, leave_elapsed);
    case prof_format::kAdaptive:
      if (is_stopped) return use(enter_count, enter_count_carefully, leave_count);
      return use(enter_adaptive, enter_adaptive_carefully, leave_adaptive);
    case prof_format::kCount:
    case prof_format::kSample:
    case prof_format::kAddresses:
      return use(enter_count, enter_count_carefully, leave_count);
    case prof_format::kUser:
      break;  // there are none yet
  }
  use_no_hooks();
}

// All forms, not those of the type as things are now: another thread may be changing them.
void use_careful_hooks() {
  replace_enter_hook(enter_elapsed, enter_elapsed_carefully);
  replace_enter_hook(enter_time, enter_time_carefully);
  replace_enter_hook(enter_time_asking, enter_time_asking_carefully);
  replace_enter_hook(enter_count, enter_count_carefully);
  replace_enter_hook(enter_adaptive, enter_adaptive_carefully);
}

}  // namespace libprof
