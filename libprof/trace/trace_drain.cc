// The problem. A page of a file that is mapped costs the kernel some microseconds when it is touched for the first
// time, several times as much as it costs to fill it with records. A window that is written to the file as a whole, and
// used again, costs a third of that, or less where records can be packed; and it stays in the processor's cache.
//
// The way taken. The window stays what it is, a chunk of the file. What is in it is written after the end of the file,
// as a chunk with the same sequence number. Then the window gets number 0, is cleared, and gets its next number
// (trace.cc). So wherever the process is killed, all is in the file: readers take the first of two chunks with the same
// number, which is the window, and none with number 0.
//
// Children. A handler that has interrupted a record may fork. When it returns in the child, that writes the record to
// its parent's window once more, and the parent may have gone on to use the window again. So the child, when it leaves
// its parent's trace (life/threads.cc), puts private memory in the place of all such windows.

#include "trace_drain.h"

#include <stddef.h>

#include "libprof/data/state.h"
#include "libprof/format/trace.h"
#include "libprof/kernel/syscall.h"

namespace libprof {

// Places that are not filled are zeros. Without values, a record is a word that is not 0. With them, one has to go from
// record to record, each of which says how many values it has: these may be 0, too.

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

// Packs the records of a window of a trace with values: see format/trace.h, which says how.
//
// One pass over what the processor still has in its cache. No jump depends on the values, and one alone on how many
// there are: a record takes some twelve cycles. That is less than what the kernel takes to give the file room for what
// is saved.

namespace {

// What is needed meanwhile.
struct PackingTables {
  uint64_t values[prof_format::kPackedSlots + prof_format::kMaxRecordValues];
  uint32_t words[prof_format::kPackedSlots];
};

// Bytes that `size` bytes of records may become, and those after them that may be overwritten.
constexpr uint64_t most_packed(uint64_t size) { return size + size / sizeof(uint32_t) + 2 * sizeof(uint64_t); }

template <class T>
T read(uint64_t from) {
  T value;
  __builtin_memcpy(&value, reinterpret_cast<const void*>(from), sizeof value);
  return value;
}
template <class T>
void write(uint8_t* to, T value) {
  __builtin_memcpy(to, &value, sizeof value);
}

class Packer {
 public:
  Packer(PackingTables* tables, uint64_t start, uint8_t* to) : tables_(tables), from_(start), out_(to) {}

  bool is_at(uint64_t end) const { return from_ >= end; }
  const uint8_t* out() const { return out_; }

  // False if its place is not filled.
  [[gnu::always_inline]] bool pack_record() {
    using namespace prof_format;
    const auto word = read<uint32_t>(from_);
    from_ += sizeof word;
    const uint32_t slot = packed_slot(word);
    const bool is_new = tables_->words[before_] != word;
    tables_->words[before_] = word;
    before_ = slot;
    last_ = tables_->values + slot;
    control_ = out_++;
    write(out_, word);
    out_ += is_new ? sizeof word : 0;
    bits_ = is_new;
    constexpr uint32_t kWhole = kRecordIsWhole >> kRecordValuesShift;
    switch (word >> kRecordValuesShift) {
      case 0:
        if (word == 0) return false;
        break;
      case kWhole | 1:
        pack_values<1>();
        break;
      case kWhole | 2:
        pack_values<2>();
        break;
      case kWhole | 3:
        pack_values<3>();
        break;
      default:
        if ((word & kRecordIsWhole) == 0) return false;
        pack_values<3>();
        for (uint32_t i = 3, shift = kLastPackedShift + 2; i < (word >> kRecordValuesShift & kMaxRecordValues);
             ++i, shift += 2) {
          if (shift > kLastPackedShift) {
            *control_ = uint8_t(bits_);
            control_ = out_++;
            bits_ = shift = 0;
          }
          pack_value(shift);
        }
    }
    *control_ = uint8_t(bits_);
    return true;
  }

 private:
  [[gnu::always_inline]] void pack_value(uint32_t shift) {
    const auto value = read<uint64_t>(from_);
    from_ += sizeof value;
    const uint64_t difference = value - *last_;
    *last_++ = value;
    write(out_, difference);
    const uint32_t form =
        uint32_t(difference != 0) + uint32_t(difference + 0x80 > 0xff) + uint32_t(difference + 0x8000 > 0xffff);
    out_ += prof_format::packed_length(form);
    bits_ |= form << shift;
  }
  template <uint32_t kValues>
  [[gnu::always_inline]] void pack_values() {
    for (uint32_t i = 0; i < kValues; ++i) pack_value(1 + 2 * i);
  }

  PackingTables* const tables_;
  uint64_t from_;
  uint8_t *out_, *control_ = nullptr;
  uint64_t* last_ = nullptr;
  uint32_t before_ = 0;  // the slot of the word before
  uint32_t bits_ = 0;    // of *control_
};

// Packs those from the address `start` up to `end`. `to`: room for most_packed(end - start) bytes. Returns how many
// they became; 0 if some place is not filled.
uint64_t pack_records(PackingTables* tables, uint64_t start, uint64_t end, uint8_t* to) {
  __builtin_memset(tables, 0, sizeof *tables);
  Packer packer(tables, start, to);
  while (!packer.is_at(end))
    if (!packer.pack_record()) return 0;
  return uint64_t(packer.out() - to);
}

}  // namespace

using prof_format::TraceChunk;
using prof_format::TraceProgram;

struct Drain {
  Drain* next;
  uint32_t is_taken;
  char* window;  // that is used again; null: none
  uint64_t window_size;
  PackingTables* tables;  // null: records are not packed
  uint8_t* packed;
};

namespace {

// Copied by fork like any memory of a program.
Drain* newest_drain;

uint64_t in_eights(uint64_t size) { return (size + 7) / 8 * 8; }

Drain* make_drain(const TraceProgram& program, uint64_t largest_window) {
  uint64_t size = sizeof(Drain);
  if (program.has_memory) size += sizeof(PackingTables) + most_packed(largest_window);
  auto* drain = static_cast<Drain*>(map_memory(size));
  if (!drain) return nullptr;
  drain->is_taken = 1;
  if (program.has_memory) {
    drain->tables = reinterpret_cast<PackingTables*>(drain + 1);
    drain->packed = reinterpret_cast<uint8_t*>(drain->tables + 1);
  }
  drain->next = load(&newest_drain);
  while (!__atomic_compare_exchange_n(&newest_drain, &drain->next, drain, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return drain;
}

}  // namespace

Drain* take_drain(const TraceProgram& program, uint64_t largest_window) {
  for (Drain* d = __atomic_load_n(&newest_drain, __ATOMIC_ACQUIRE); d; d = d->next)
    if (__atomic_exchange_n(&d->is_taken, 1u, __ATOMIC_ACQ_REL) == 0) return d;
  return make_drain(program, largest_window);
}

bool drain_window(Drain* drain, const TraceProgram& program, const TraceWindow& window, uint64_t end) {
  const auto* from = reinterpret_cast<const TraceChunk*>(window.start);
  const uint64_t start = as_word(from + 1);
  TraceChunk chunk = *from;
  chunk.size = chunk.stored = in_eights(end - start);  // what follows `end` is not filled
  const void* bytes = from + 1;
  if (drain->tables) {
    const uint64_t size = pack_records(drain->tables, start, end, drain->packed);
    if (size == 0) return false;
    chunk.encoding = prof_format::kTracePacked;
    chunk.size = end - start;
    chunk.stored = in_eights(size);
    bytes = drain->packed;
    for (uint64_t i = size; i < chunk.stored; ++i) drain->packed[i] = 0;
  } else if (!are_filled(program, start, end)) {
    return false;
  }
  return append_trace_chunk(chunk, bytes);
}

void note_reused_window(Drain* drain, const TraceWindow& window) {
  drain->window_size = window.size;
  store(&drain->window, window.start);
}

void forget_reused_window(Drain* drain) {
  if (drain) store(&drain->window, static_cast<char*>(nullptr));
}

void leave_windows_of_parent() {
  for (Drain* d = newest_drain; d; d = d->next) {
    if (d->window)
      syscall6(__NR_mmap, as_word(d->window), d->window_size, kProtectReadWrite,
               kMapPrivate | kMapAnonymous | kMapFixed, uint64_t(-1), 0);
    d->window = nullptr;
    d->is_taken = 0;
  }
}

}  // namespace libprof
