// Counts the bytes of a program's code by what becomes of them.

#ifndef LINKER_REWRITE_MOVE_COVERAGE_H
#define LINKER_REWRITE_MOVE_COVERAGE_H

#include "linker-rewrite/base/coverage.h"
#include "linker-rewrite/program/program.h"

namespace profld {

// To be called when it is known what moves.
Coverage coverage_of(const Program& program);

}  // namespace profld

#endif
