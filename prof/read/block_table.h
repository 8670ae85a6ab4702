// The basic blocks of a program that profld -b rewrote, and how often they ran: what the section .prof.blocks says
// (libprof/format/blocks.h).

#ifndef PROF_READ_BLOCK_TABLE_H
#define PROF_READ_BLOCK_TABLE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "elf_file.h"

namespace prof {

struct BlockRuns {
  uint64_t address = 0;  // of its first instruction, in the original, link-time
  uint32_t size = 0;     // bytes
  uint64_t count = 0;    // executions
};

// The jump at the end of a block may lead to another.
struct JumpTarget {
  uint64_t from = 0, to = 0;  // addresses of the blocks, as above
  bool is_likely = true;      // false: the table probably ends before it
};

// How often control took one of the ways on from a conditional jump at the end of a block.
struct WayRuns {
  uint64_t end = 0;       // of the block, an address as above
  bool is_taken = false;  // the way to the target of the jump
  uint64_t count = 0;
};

struct AllBlocks {
  std::vector<BlockRuns> blocks;
  std::vector<JumpTarget> targets;  // of jumps through tables: all or none of a block
  std::vector<WayRuns> ways;        // those that are known without looking at the code
};

// The bytes of .prof.blocks. A large program has tens of millions of them, so those of a file are read piece by piece.
// What they are taken from must outlive this.
class BlocksSection {
 public:
  explicit BlocksSection(const ElfFile& file);
  explicit BlocksSection(std::string_view bytes) : size_(bytes.size()), bytes_(bytes) {}
  uint64_t size() const { return size_; }
  // A piece that begins there, which is empty at the end. It lives as long as this and `buffer`, and until the next
  // call.
  std::string_view piece(uint64_t offset, std::string& buffer) const;

 private:
  uint64_t size_ = 0;
  std::string_view bytes_;  // if they are in memory
  const ElfFile* file_ = nullptr;
  uint64_t offset_ = 0;  // in the file
};

// What is listed: all blocks, or those of the functions that ran. A large program has a million others.
enum class Listed { executed, all };

// Computes how often each block ran. `section` may be damaged: then blocks are missing, or have wrong counts.
// `counters`: the words of the runtime; those that are missing are 0. A count that comes out below 0, because the
// profile was read, or the process killed, in the middle of a function, is 0.
AllBlocks block_runs(const BlocksSection& section, const std::vector<uint64_t>& counters, Listed listed);

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

// The same arguments as of block_runs. Functions without increments are not among them.
AllIncrements increments(const BlocksSection& section, const std::vector<uint64_t>& counters);

}  // namespace prof

#endif
