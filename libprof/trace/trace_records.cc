// Places that are not filled are zeros. Without values, a record is a word that is not 0. With them, one has to go from record
// to record, each of which says how many values it has: these may be 0, too.

#include "trace_records.h"

#include <stddef.h>

#include "libprof/format/trace.h"

namespace libprof {

namespace {

template <class Word>
Word word_at(uint64_t address) {
  return *reinterpret_cast<const Word*>(address);
}

uint64_t length_of_record(uint32_t word) {
  const uint32_t values = word >> prof_format::kRecordValuesShift & prof_format::kMaxRecordValues;
  return sizeof word + values * sizeof(uint64_t);
}

template <class Word>
bool has_zero(uint64_t start, uint64_t end) {
  constexpr uint64_t kLowest = ~uint64_t(0) / Word(~Word(0)), kHighest = kLowest << (8 * sizeof(Word) - 1);
  for (; start % sizeof(uint64_t) != 0 && start < end; start += sizeof(Word))
    if (word_at<Word>(start) == 0) return true;
  // A word of them all borrows for its highest bit, and has not had it, only if it is 0 or one below it is.
  for (; start + sizeof(uint64_t) <= end; start += sizeof(uint64_t)) {
    const auto words = word_at<uint64_t>(start);
    if (((words - kLowest) & ~words & kHighest) != 0) return true;
  }
  for (; start < end; start += sizeof(Word))
    if (word_at<Word>(start) == 0) return true;
  return false;
}

bool are_whole(uint64_t start, uint64_t end) {
  while (start < end) {
    const auto word = word_at<uint32_t>(start);
    if (!prof_format::is_whole_record(word)) return false;
    start += length_of_record(word);
  }
  return true;
}

template <class Word>
uint64_t last_zero(uint64_t start, uint64_t end) {
  for (; start + sizeof(Word) <= end; end -= sizeof(Word))
    if (word_at<Word>(end - sizeof(Word)) == 0) return end - sizeof(Word);
  return 0;
}

uint64_t last_zeros(uint64_t start, uint64_t end, uint64_t length) {
  uint64_t found = 0;
  while (start < end) {
    const uint64_t first = start;
    while (start < end && word_at<uint32_t>(start) == 0) start += sizeof(uint32_t);
    if (start - first >= length) found = start - length;
    if (start < end) start += length_of_record(word_at<uint32_t>(start));
  }
  return found;
}

}  // namespace

bool are_filled(const prof_format::TraceProgram& program, uint64_t start, uint64_t end) {
  if (program.has_memory) return are_whole(start, end);
  return program.word_size == sizeof(uint16_t) ? !has_zero<uint16_t>(start, end) : !has_zero<uint32_t>(start, end);
}

uint64_t last_unfilled(const prof_format::TraceProgram& program, uint64_t start, uint64_t end, uint64_t length) {
  if (program.has_memory) return last_zeros(start, end, length);
  return program.word_size == sizeof(uint16_t) ? last_zero<uint16_t>(start, end) : last_zero<uint32_t>(start, end);
}

}  // namespace libprof
