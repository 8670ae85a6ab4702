#include "variants.h"

namespace libprof {

namespace {

uint64_t* program_words;

void use_entering(uint64_t in) {
  store(&hook_in, in);
  if (program_words) store(&program_words[0], in);
}

void use_leaving(uint64_t out) {
  store(&hook_out, out);
  if (program_words) store(&program_words[1], out);
}

}  // namespace

void set_program_words(uint64_t* words) {
  program_words = words;
  use_entering(hook_in);
  use_leaving(hook_out);
}

void use_variants(Variant* in, Variant* out) {
  use_entering(reinterpret_cast<uint64_t>(in));
  use_leaving(reinterpret_cast<uint64_t>(out));
}

void replace_entering(Variant* from, Variant* to) {
  if (hook_in == reinterpret_cast<uint64_t>(from)) use_entering(reinterpret_cast<uint64_t>(to));
}

}  // namespace libprof
