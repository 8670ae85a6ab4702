// How much of a program's code has hooks, in bytes, by what becomes of them. Numbers of functions do not tell that:
// where no table names most functions, nearly all that are known may have hooks, and still they are a small part of the
// code.

#ifndef LINKER_REWRITE_MOVE_COVERAGE_H
#define LINKER_REWRITE_MOVE_COVERAGE_H

#include <cstdint>

#include "linker-rewrite/program/program.h"

namespace profld {

// Bytes of the original's code. Each is counted once.
struct Coverage {
  uint64_t hooked = 0;      // in functions with hooks, and their fragments; with --no-hooks in those that moved
  uint64_t stays = 0;       // in functions that stay though they were chosen
  uint64_t not_chosen = 0;  // in functions that the user, or the rules for libraries, left out
  uint64_t stubs = 0;       // the linker's, which lead to other files
  uint64_t padding = 0;
  uint64_t unknown = 0;  // in no function that is known

  uint64_t all() const { return hooked + stays + not_chosen + stubs + padding + unknown; }
  uint64_t missing() const { return stays + unknown; }

  // True if users should be told: less than 95 % of the code that could have hooks has them, and what is missing is
  // more than the start-up code that each program has.
  bool is_low() const {
    constexpr uint64_t kStartUpCode = 4096;  // bytes, of which there are some hundred
    return missing() > kStartUpCode && missing() > (hooked + missing()) / 20;
  }
};

// To be called when it is known what moves.
Coverage coverage_of(const Program& program);

}  // namespace profld

#endif
