// Turns the words that a thread of a rewritten program wrote (libprof/format/trace.h: blocks) into blocks that ran, with
// their values.
//
// A signal handler may run between a block and its values, and has blocks of its own. These come behind the block that was
// interrupted, which waits for its values. A handler may also jump out, so that they never come: a block that has waited
// while many others ran is given up, and goes on without them.

#ifndef PROF_TRACE_BLOCKS_DECODER_H
#define PROF_TRACE_BLOCKS_DECODER_H

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "block_table.h"

namespace prof {

class BlocksDecoder {
 public:
  // Called with each block that ran, by its number in the table, and its values: fewer than it has if some are missing.
  using Take = std::function<void(uint64_t block, std::span<const uint64_t> values)>;

  // Of one thread and one module. `table` must outlive this.
  BlocksDecoder(const BlockTable& table, Take take) : table_(table), take_(std::move(take)) {}

  // The next words, of so many bytes each (2, 4 or 8). Throws DamagedTrace.
  void words(std::string_view bytes, unsigned size);

  // No more words come.
  void finish() { pass_on(true); }

 private:
  struct Waiting {
    uint64_t block;
    std::vector<uint64_t> values;
    uint64_t missing;
  };
  template <class Word>
  void numbers(std::string_view bytes);
  void begin(uint64_t number);
  void value(uint64_t value);
  void pass_on(bool all);

  const BlockTable& table_;
  Take take_;
  uint64_t zeros_ = 0;           // words before this: values, or not written
  std::deque<Waiting> waiting_;  // in the order in which they ran; the first lacks values
};

}  // namespace prof

#endif
