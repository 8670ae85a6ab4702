// What is not rewritten, and why: programs as a whole, and functions, which stay in place, unprofiled.

#ifndef LINKER_REWRITE_DECIDE_MOVABILITY_H
#define LINKER_REWRITE_DECIDE_MOVABILITY_H

#include "linker-rewrite/elf/image.h"
#include "linker-rewrite/program/data_references.h"
#include "linker-rewrite/program/program.h"

namespace profld {

// refuse.cc: throws Error with the reason if the image is no program, has been rewritten before, or has a run-time
// system that depends on where its code lies.
void refuse_unsupported(const Image& image);

// Sets Group::reason of every group that cannot be moved, and Group::indirect of the others.
void find_reasons_to_stay(Program& program, const DataReferences& data, TaskCalls task_calls = TaskCalls::stay);

}  // namespace profld

#endif
