// Where those status flags are live that some code changes which is put in between: something may read them before they are
// overwritten.
//
// Compilers pass nothing in flags from one function to another, but nothing forbids it to hand-written code. So all
// functions of the program are looked at: which read flags at their entry, and whether any reads them behind a call.

#ifndef LINKER_REWRITE_BLOCKS_LIVE_FLAGS_H
#define LINKER_REWRITE_BLOCKS_LIVE_FLAGS_H

#include <algorithm>
#include <vector>

#include "linker-rewrite/program/noreturn.h"
#include "linker-rewrite/x86/flags.h"
#include "liveness.h"

namespace profld {

// How the functions of a program pass flags to each other.
struct FlagPassing {
  Flags which = kAllFlags;         // the flags that are asked about
  std::vector<OldAddr> takers;     // where control enters a function and flags are read, ascending
  std::vector<OldAddr> returners;  // functions behind whose calls flags are read, ascending
  bool any_takes = false;          // all of these may be more
  bool any_returns = false;        // they are read behind an indirect call

  bool operator==(const FlagPassing&) const = default;
  bool returns(OldAddr function) const { return std::ranges::binary_search(returners, function); }
  bool takes(OldAddr at) const { return any_takes || std::ranges::binary_search(takers, at); }
};

// `which`: the flags that are asked about.
FlagPassing find_flag_passing(const Program& program, const Arrivals& arrivals, Flags which);

// Of one group, those of `passing.which`.
class LiveFlags : public Liveness<LiveFlags, Flags> {
 public:
  LiveFlags(const Program& program, const Group& group, const FlowGraph& graph, const FlagPassing& passing);

  bool returns_flags() const { return returns_flags_; }

  bool never_returns(const Code& code, const Insn& insn) const {
    const bool is_call = insn.flow == Flow::call || insn.flow == Flow::call_indirect;
    return is_call && noreturn_.never_returns(insn, code.target(insn));
  }

 private:
  friend Liveness;
  Flags at_end(size_t block, Flags of_successors) const;
  Flags before(const BasicBlock& b, uint32_t insn, Flags behind) const;
  bool live_outside(OldAddr target) const;  // flags are live there, and a direct jump to it leaves the group
  bool takes_flags(OldAddr target) const;

  const Program& program_;
  const Group& group_;
  const FlagPassing& passing_;
  mutable Noreturn noreturn_;
  bool returns_flags_ = false;
};

// What the program's code does with flags and with gs, of one instruction.
FlagEffect flag_effect_of(const Code& code, const Insn& insn);

}  // namespace profld

#endif
