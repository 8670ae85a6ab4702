// The basic blocks of a program that profld --trace rewrote, as its trace says what they are (libprof/format/trace.h).

#ifndef PROF_TRACE_BLOCK_TABLE_H
#define PROF_TRACE_BLOCK_TABLE_H

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
  uint32_t values(uint64_t block) const { return blocks_[block].values; }
  bool has_code(uint64_t block) const { return blocks_[block].size != 0; }
  // The block that ran just before it and wrote no word: its number + 1; 0: none. There is an end to going on so.
  uint32_t before(uint64_t block) const { return blocks_[block].before; }

  // The block as a run of instructions in a process. Throws DamagedTrace if its code is none.
  TraceRun run(uint64_t block, uint32_t process, uint64_t bias) const;

  // What it touched when it ran, with these values. An access whose value is missing was made no time (count 0), and
  // `is_complete` becomes false.
  void accesses(uint64_t block, uint64_t bias, std::span<const uint64_t> values, std::vector<AccessValue>& to,
                bool& is_complete) const;

  std::string_view code(uint64_t block) const;

 private:
  void find_chains();
  std::span<const prof_format::TraceOperand> operands(uint64_t block) const;

  std::vector<prof_format::TraceBlock> blocks_;
  std::vector<uint64_t> first_operands_;  // of each block
  std::vector<prof_format::TraceOperand> operands_;
  std::string code_;
};

}  // namespace prof

#endif
