// Turns the records that a thread of a rewritten program wrote (libprof/format/trace.h: blocks) into blocks that ran, with
// their values. Records are never torn between two windows.

#ifndef PROF_INSTRUCTIONS_TRACE_BLOCKS_DECODER_H
#define PROF_INSTRUCTIONS_TRACE_BLOCKS_DECODER_H

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "block_table.h"
#include "block_ways.h"

namespace prof {

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
