// One pass over what the processor still has in its cache. No jump depends on the values, and one alone on how many there are:
// a record takes some twelve cycles. That is less than what the kernel takes to give the file room for what is saved.

#include "trace_packing.h"

namespace libprof {

namespace {

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

}  // namespace

uint64_t pack_records(PackingTables* tables, uint64_t start, uint64_t end, uint8_t* to) {
  __builtin_memset(tables, 0, sizeof *tables);
  Packer packer(tables, start, to);
  while (!packer.is_at(end))
    if (!packer.pack_record()) return 0;
  return uint64_t(packer.out() - to);
}

}  // namespace libprof
