// Where general registers are dead: whatever path control takes from there, they are overwritten before anything reads
// them.
//
// Nothing is presumed of what functions leave each other in registers: at calls, returns and wherever else control leaves
// a group, all are live.

#ifndef LINKER_REWRITE_BLOCKS_LIVE_REGISTERS_H
#define LINKER_REWRITE_BLOCKS_LIVE_REGISTERS_H

#include "liveness.h"

namespace profld {

using RegisterSet = uint16_t;  // by the numbers in semantics.h

class LiveRegisters : public Liveness<LiveRegisters, RegisterSet> {
 public:
  LiveRegisters(const Group& group, const FlowGraph& graph);

 private:
  friend Liveness;
  RegisterSet at_end(size_t block, RegisterSet of_successors) const;
  RegisterSet before(const BasicBlock& b, uint32_t insn, RegisterSet behind) const;

  const Group& group_;
};

}  // namespace profld

#endif
