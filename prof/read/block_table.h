// The basic blocks of a program that profld -b rewrote, and how often they ran: what the section .prof.blocks says
// (libprof/format/blocks.h).

#ifndef PROF_READ_BLOCK_TABLE_H
#define PROF_READ_BLOCK_TABLE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prof {

struct BlockRuns {
  uint64_t address = 0;  // of its first instruction, in the original, link-time
  uint32_t size = 0;     // bytes
  uint64_t count = 0;    // executions
};

// Computes how often each block ran. `section`: the bytes of .prof.blocks, which may be damaged: then blocks are missing, or
// have wrong counts. `counters`: the words of the runtime; those that are missing are 0. A count that comes out below 0,
// because the profile was read, or the process killed, in the middle of a function, is 0.
std::vector<BlockRuns> block_runs(std::string_view section, const std::vector<uint64_t>& counters);

// What the counters of a function took part in: how many increments there were.
struct Increments {
  uint64_t entry = 0;  // of the function, in the original, link-time
  uint64_t count = 0;
};

struct AllIncrements {
  std::vector<Increments> of_functions;
  bool are_locked = false;  // by threads together
};

// Whether a section says that.
bool are_increments_locked(std::string_view section);

// The same arguments as of block_runs.
AllIncrements increments(std::string_view section, const std::vector<uint64_t>& counters);

}  // namespace prof

#endif
