#include "blocks_decoder.h"

#include <algorithm>
#include <cstring>

#include "varint.h"

namespace prof {

using namespace prof_format;

namespace {

constexpr size_t kMostWaiting = 1 << 16;  // blocks

}  // namespace

void BlocksDecoder::pass_on(bool all) {
  while (!waiting_.empty() && (all || waiting_.front().missing == 0)) {
    take_(waiting_.front().block, waiting_.front().values);
    waiting_.pop_front();
  }
}

// `number`: of the block + 1. The table bounds how deep this goes.
void BlocksDecoder::begin(uint64_t number) {
  const uint64_t block = number - 1;
  if (number == 0 || block >= table_.size()) throw DamagedTrace("a block ran that there is not");
  if (const uint32_t before = table_.before(block)) begin(before);
  if (!table_.has_code(block)) return;
  const uint32_t values = table_.values(block);
  if (waiting_.empty() && values == 0) {
    take_(block, {});
    return;
  }
  waiting_.push_back({block, {}, values});
  if (waiting_.size() <= kMostWaiting) return;
  waiting_.front().missing = 0;
  pass_on(false);
}

void BlocksDecoder::value(uint64_t value) {
  const auto at = std::find_if(waiting_.rbegin(), waiting_.rend(), [](const Waiting& w) { return w.missing != 0; });
  if (at == waiting_.rend()) throw DamagedTrace("a value belongs to no block");
  at->values.push_back(value);
  if (--at->missing == 0) pass_on(false);
}

template <class Word>
void BlocksDecoder::numbers(std::string_view bytes) {
  for (size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if (word) begin(word);
  }
}

void BlocksDecoder::words(std::string_view bytes, unsigned size) {
  if (size == sizeof(uint16_t)) return numbers<uint16_t>(bytes);
  if (size == sizeof(uint32_t)) return numbers<uint32_t>(bytes);
  if (size != sizeof(uint64_t)) throw DamagedTrace("its words have no size that they can have");
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if (word == 0) {
      ++zeros_;
      continue;
    }
    // What stands in front of something was written, so it is a value if one is missing.
    for (; zeros_ && !waiting_.empty(); --zeros_) value(0);
    zeros_ = 0;
    if (word >> kWordTagShift == kWordBlock) {
      begin(word & UINT32_MAX);
    } else {
      value(word);
    }
  }
}

}  // namespace prof
