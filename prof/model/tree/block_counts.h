// How often the basic blocks of a program ran: profld -b.

#ifndef PROF_MODEL_TREE_BLOCK_COUNTS_H
#define PROF_MODEL_TREE_BLOCK_COUNTS_H

#include <cstdint>
#include <map>
#include <vector>

#include "probe_cost.h"
#include "prof/model/program/functions.h"
#include "prof/read/block_table.h"
#include "prof/read/profile.h"

namespace prof {

// A run of instructions that is entered only at its first and left only at its last.
struct BlockCount {
  uint32_t object = 0;   // index into FunctionTable::objects
  uint64_t address = 0;  // of its first instruction, in the original, link-time
  uint32_t size = 0;     // bytes
  uint64_t count = 0;    // executions
};

// What the indirect jump at the end of a block may lead to, through a table.
struct BlockTarget {
  uint32_t object = 0;
  uint64_t from = 0, to = 0;  // addresses of the blocks
  bool is_likely = true;      // false: the table probably ends before it
};

// How often control took one of the ways on from a conditional jump.
struct WayCount {
  uint32_t object = 0;
  uint64_t end = 0;       // of the jump, an address
  bool is_taken = false;  // the way to its target
  uint64_t count = 0;
};

// What is known of how control goes on from blocks, beside their code.
struct WaysOn {
  std::vector<BlockTarget> targets;  // by object and address
  std::vector<WayCount> ways;        // the same, one at most for a jump
};

struct BlockCounts {
  std::vector<BlockCount> blocks;  // by object and address
  WaysOn ways;
};

// Counters of profiles added up, over threads and processes, and the blocks that they are of.
class BlockSums {
 public:
  // `has_threads`: whether several threads of the process ran its code.
  void add(const Profile& profile, bool has_threads, FunctionTable& functions);

  BlockCounts finish(const FunctionTable& functions, Listed listed) const;

  // What increments of counters took, as far as that can be known without a measurement. Functions that were never
  // called are added.
  CounterCosts costs(FunctionTable& functions) const;

  // Cycles that it probably took to increment counters that threads shared, as far as that began while a process ran.
  double shared_cycles() const;

 private:
  struct Sums {
    std::vector<uint64_t> all;
    std::vector<uint64_t> locked, shared;  // of these, where a process had them locked: one with a thread, with several
  };
  std::map<uint32_t, Sums> sums_;  // by object
};

}  // namespace prof

#endif
