#include "hook_selection.h"

namespace libprof {

namespace {

uint64_t* program_words;

void use_enter_hook(uint64_t in) {
  store(&enter_hook, in);
  if (program_words) store(&program_words[0], in);
}

void use_leave_hook(uint64_t out) {
  store(&leave_hook, out);
  if (program_words) store(&program_words[1], out);
}

}  // namespace

void set_program_words(uint64_t* words) {
  program_words = words;
  use_enter_hook(enter_hook);
  use_leave_hook(leave_hook);
}

void use_hooks(Hook* in, Hook* out) {
  use_enter_hook(reinterpret_cast<uint64_t>(in));
  use_leave_hook(reinterpret_cast<uint64_t>(out));
}

void replace_enter_hook(Hook* from, Hook* to) {
  if (enter_hook == reinterpret_cast<uint64_t>(from)) use_enter_hook(reinterpret_cast<uint64_t>(to));
}

}  // namespace libprof
