// The basic blocks of a program that profld --trace rewrote, as its trace says what they are (libprof/format/trace.h).

#ifndef PROF_INSTRUCTIONS_TRACE_BLOCK_TABLE_H
#define PROF_INSTRUCTIONS_TRACE_BLOCK_TABLE_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "libprof/format/trace.h"
#include "run_table.h"

namespace prof {

class BlockTable {
 public:
  // `bytes`: of the chunk, unpacked. Throws DamagedTrace if they do not make sense.
  explicit BlockTable(std::string_view bytes);

  uint64_t size() const { return blocks_.size(); }
  bool has_code(uint64_t block) const { return blocks_[block].size != 0; }
  uint32_t instructions(uint64_t block) const { return blocks_[block].instructions; }
  // The block that ran just before it and wrote no word: its number + 1; 0: none. There is an end to going on so.
  uint32_t before(uint64_t block) const { return blocks_[block].before; }

  // As libprof/format/trace.h says.
  bool writes(uint64_t block) const { return (blocks_[block].flags & prof_format::kBlockWrites) != 0; }
  bool is_told_by_ways(uint64_t block) const { return (blocks_[block].flags & prof_format::kBlockToldByWays) != 0; }
  bool is_from_outside(uint64_t block) const { return (blocks_[block].flags & prof_format::kBlockFromOutside) != 0; }
  // Where control may go on; empty: the table does not say.
  std::span<const uint32_t> next(uint64_t block) const {
    return std::span(next_).subspan(size_t(first_next_[block]), blocks_[block].next);
  }

  // The block as a run of instructions in a process. Throws DamagedTrace if its code is none. `is_down`: what the values tell
  // the direction of goes down.
  TraceRun run(uint64_t block, uint32_t process, uint64_t bias, bool is_down) const;

  // What is known of the accesses of a block that ran.
  struct Known {
    bool is_down = false;       // repeated ones whose direction the values tell go down
    bool lacks_values = false;  // some value is missing
    bool has_unknown = false;   // the trace cannot tell some address
  };
  // What it touched when it ran, with these values. An access whose address is not known was made no time (count 0).
  Known accesses(uint64_t block, uint64_t bias, std::span<const uint64_t> values, std::vector<AccessValue>& to) const;

  std::string_view code(uint64_t block) const;

 private:
  void find_chains();
  std::span<const prof_format::TraceOperand> operands(uint64_t block) const;

  std::vector<prof_format::TraceBlock> blocks_;
  std::vector<uint64_t> first_operands_;  // of each block
  std::vector<prof_format::TraceOperand> operands_;
  std::vector<uint64_t> first_next_;  // of each block
  std::vector<uint32_t> next_;
  std::string code_;
};

}  // namespace prof

#endif
