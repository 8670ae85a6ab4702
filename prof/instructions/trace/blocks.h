// What a rewritten program traced of itself (libprof/format/trace.h: blocks): its basic blocks, and from the records
// that its threads wrote which of them ran.

#ifndef PROF_INSTRUCTIONS_TRACE_BLOCKS_H
#define PROF_INSTRUCTIONS_TRACE_BLOCKS_H

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/format/trace.h"
#include "run_table.h"

namespace prof {

// The basic blocks of a program that profld --trace rewrote, as its trace says what they are (libprof/format/trace.h).
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

  // The block as a run of instructions in a process. Throws DamagedTrace if its code is none. `is_down`: what the
  // values tell the direction of goes down.
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

// Turns the records that a thread of a rewritten program wrote (libprof/format/trace.h: blocks) into blocks that ran,
// with their values. Records are never torn between two windows.

// Which blocks ran between two that wrote words (see blocks.cc): the ways that a table tells of. It must outlive this.
class BlockWays {
 public:
  explicit BlockWays(const BlockTable& table) : table_(table) {}

  const BlockTable& table() const { return table_; }

  // Whether control can go on from one block to another that writes, by way of such as do not. Appends these to `way`,
  // in the order in which they ran. Throws DamagedTrace if the table says that there are several ways.
  bool find(uint32_t from, uint32_t to, std::vector<uint32_t>& way);
  // Whether none of what can come next could come from outside as well.
  bool is_inside(uint32_t from) { return !table_.next(from).empty() && after(from).is_inside; }

 private:
  // What can be reached, ascending by block; `before`: the block before it.
  struct Reached {
    uint32_t block, before;
  };
  struct Tree {
    std::vector<Reached> reached;
    bool is_inside = true;
  };
  const Tree& after(uint32_t from);

  const BlockTable& table_;
  std::unordered_map<uint32_t, Tree> trees_;  // by the block that they begin at
  uint64_t size_ = 0;                         // of all
};

// What a thread ran, by the words that it wrote, one after the other.
class BlockSequence {
 public:
  // `ways` must outlive this; threads may share it.
  explicit BlockSequence(BlockWays& ways) : table_(ways.table()), ways_(ways) {}

  // The block writes a word. `ran`: gets those that ran before it, since the last one, in their order.
  void write(uint32_t block, std::vector<uint32_t>& ran);
  // Some words that others followed are not to be had: what comes next may be anywhere.
  void lose();

  // Some that ran could not be told.
  bool has_gaps() const { return has_gaps_; }
  // So could those that ran before the first word.
  bool begins_inside() const { return begins_inside_; }
  // So many instructions may be others than those that were told.
  uint64_t doubtful() const { return doubtful_; }
  // How often handlers came to code that did not go on: what it ran after its last word is not told. There may be more:
  // where the next word may be of what comes from outside, nothing shows it.
  uint64_t never_resumed() const { return never_resumed_ + interrupted_.size(); }
  // The last word is none that control leaves the function with.
  bool ends_inside() const { return last_ != kNone && !table_.next(last_).empty(); }

 private:
  void keep(uint32_t block);
  void leave(uint32_t block);
  bool resume(uint32_t block, std::vector<uint32_t>& ran);

  static constexpr uint32_t kNone = UINT32_MAX;

  const BlockTable& table_;
  BlockWays& ways_;
  uint32_t last_ = kNone;
  std::vector<uint32_t> interrupted_;  // the last one is the innermost
  std::vector<uint32_t> left_;         // those that may have been interrupted still, none twice
  std::vector<uint32_t> other_;
  bool has_gaps_ = false, begins_inside_ = false;
  bool has_forgotten_ = false;  // what was interrupted is not all kept
  uint64_t doubtful_ = 0, never_resumed_ = 0;
};

class BlocksDecoder {
 public:
  // Called with each block that ran, by its number in the table, and its values: fewer than it has if some are missing.
  using Take = std::function<void(uint64_t block, std::span<const uint64_t> values)>;

  // Of one thread and one module. `ways` must outlive this.
  BlocksDecoder(BlockWays& ways, Take take) : table_(ways.table()), sequence_(ways), take_(std::move(take)) {}

  // The next words of a window, of so many bytes each (2 or 4). Throws DamagedTrace.
  void words(std::string_view bytes, unsigned size);

  // The next records of a window, with values. Throws DamagedTrace.
  void records(std::string_view bytes);
  // No more of the window come: there are none, or none that can be believed.
  void end_window();
  void leave_window() {
    rest_.clear();
    sequence_.lose();
  }

  // What is not certain of the blocks that ran.
  const BlockSequence& sequence() const { return sequence_; }

 private:
  template <class Word>
  void numbers(std::string_view bytes);
  void run(uint64_t number, std::span<const uint64_t> values);

  const BlockTable& table_;
  BlockSequence sequence_;
  Take take_;
  std::vector<uint32_t> before_;  // that ran before the word of now
  std::string rest_;              // the beginning of a record
  std::vector<uint64_t> values_;
};

}  // namespace prof

#endif
