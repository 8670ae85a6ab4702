// What OCaml's run-time system has to know of the copies' code: see code_fragments.cc.

#ifndef LINKER_REWRITE_MOVE_CODE_FRAGMENTS_H
#define LINKER_REWRITE_MOVE_CODE_FRAGMENTS_H

#include <optional>
#include <vector>

#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/program/program.h"
#include "linker-rewrite/x86/encoding.h"

namespace profld {

// The call with which the run-time system registers its own code in assembly.
struct FragmentCall {
  uint32_t group;
  InsnRef at;
  OldAddr function;              // caml_register_code_fragment
  std::vector<OldRange> ranges;  // of the original's code that is registered: of modules, and in assembly
};

// nullopt if it is no program of OCaml's, or makes no such call.
std::optional<FragmentCall> find_fragment_call(const Program& program);

// Where the copies of the ranges are, each range that has some.
std::vector<NewRange> copies_of_ranges(const std::vector<OldRange>& ranges, const CopyMap& copies);

}  // namespace profld

#endif
