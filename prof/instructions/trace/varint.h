// Numbers of variable length in the bytes of a trace: LEB128, and signed ones with the sign in the lowest bit.

#ifndef PROF_INSTRUCTIONS_TRACE_VARINT_H
#define PROF_INSTRUCTIONS_TRACE_VARINT_H

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "prof/read/error.h"

namespace prof {

// What a trace says cannot be: the chunk is damaged, or torn. The reader makes a remark of it.
struct DamagedTrace : Error {
  using Error::Error;
};

inline void append_varint(std::string& out, uint64_t value) {
  while (value >= 128) {
    out += char(value | 128);
    value >>= 7;
  }
  out += char(value);
}

// A difference of addresses, modulo 2^64.
inline uint64_t folded_sign(uint64_t difference) { return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0); }
inline uint64_t unfolded_sign(uint64_t value) { return value >> 1 ^ (value & 1 ? UINT64_MAX : 0); }

// Reads forward through bytes that are nobody's word. Throws DamagedTrace in place of reading after their end.
class TraceBytes {
 public:
  explicit TraceBytes(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool at_end() const { return at_ == end_; }
  uint64_t remaining() const { return uint64_t(end_ - at_); }

  std::string_view take(uint64_t size) {
    if (size > remaining()) fail();
    const std::string_view bytes(at_, size_t(size));
    at_ += size;
    return bytes;
  }
  template <class T>
  T read() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  uint64_t varint() {
    if (at_ != end_ && !(*at_ & 0x80)) return uint8_t(*at_++);  // most are one byte
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) fail();
      const auto byte = uint8_t(*at_++);
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
    fail();
  }

 private:
  [[noreturn]] static void fail() { throw DamagedTrace("a chunk ends too early"); }

  const char *at_, *end_;
};

}  // namespace prof

#endif
