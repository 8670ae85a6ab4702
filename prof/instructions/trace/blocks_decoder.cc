#include "blocks_decoder.h"

#include <cstring>

#include "varint.h"

namespace prof {

using namespace prof_format;

// `number`: of the block + 1.
void BlocksDecoder::run(uint64_t number, std::span<const uint64_t> values) {
  const uint64_t block = number - 1;
  if (number == 0 || block >= table_.size()) throw DamagedTrace("a block ran that there is not");
  before_.clear();
  sequence_.write(uint32_t(block), before_);
  for (const uint32_t before : before_)
    if (table_.has_code(before)) take_(before, values);
  if (table_.has_code(block)) take_(block, values);
}

template <class Word>
void BlocksDecoder::numbers(std::string_view bytes) {
  for (size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if (word) run(word, {});
  }
}

void BlocksDecoder::words(std::string_view bytes, unsigned size) {
  if (size == sizeof(uint16_t)) return numbers<uint16_t>(bytes);
  if (size == sizeof(uint32_t)) return numbers<uint32_t>(bytes);
  throw DamagedTrace("its words have no size that they can have");
}

void BlocksDecoder::records(std::string_view bytes) {
  std::string joined;
  if (!rest_.empty()) {
    joined = std::move(rest_) + std::string(bytes);
    bytes = joined;
    rest_.clear();
  }
  while (bytes.size() >= sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    const size_t values = word >> kRecordValuesShift & kMostRecordValues;
    const size_t size = sizeof word + values * sizeof(uint64_t);
    if (size > bytes.size()) break;
    if (word != 0) {
      const bool is_whole = values == 0 || (word & kRecordIsWhole) != 0;
      values_.resize(is_whole ? values : 0);
      if (!values_.empty()) std::memcpy(values_.data(), bytes.data() + sizeof word, values * sizeof(uint64_t));
      run(word & kRecordNumber, values_);
    }
    bytes.remove_prefix(size);
  }
  rest_ = bytes;
}

void BlocksDecoder::end_window() {
  if (!rest_.empty()) throw DamagedTrace("a record goes on behind its window");
}

}  // namespace prof
