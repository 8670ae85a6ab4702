// Bounds-checked reading and appending of little-endian bytes. Every byte of a file that we did not write ourselves is
// read through a Reader, which throws Error instead of reading past its end. And changes of bytes in a file.

#ifndef LINKER_REWRITE_BASE_BYTES_H
#define LINKER_REWRITE_BASE_BYTES_H

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "address.h"
#include "refusal.h"

namespace profld {

using Bytes = std::vector<uint8_t>;
using ByteView = std::span<const uint8_t>;

// Reads forward through `data`. `what` names the data in errors ("damaged WHAT").
class Reader {
 public:
  Reader(ByteView data, const char* what) : data_(data), what_(what) {}

  size_t position() const { return position_; }
  size_t remaining() const { return data_.size() - position_; }
  bool at_end() const { return position_ == data_.size(); }
  void seek(size_t position) {
    if (position > data_.size()) fail();
    position_ = position;
  }
  void skip(uint64_t n) {
    if (n > remaining()) fail();
    position_ += n;
  }
  ByteView take(uint64_t n) {
    if (n > remaining()) fail();
    ByteView v = data_.subspan(position_, n);
    position_ += n;
    return v;
  }

  template <class T>
  T read() {
    static_assert(std::is_trivially_copyable_v<T>);
    T v;
    std::memcpy(&v, take(sizeof v).data(), sizeof v);
    return v;
  }
  uint8_t u8() { return read<uint8_t>(); }
  uint16_t u16() { return read<uint16_t>(); }
  uint32_t u32() { return read<uint32_t>(); }
  uint64_t u64() { return read<uint64_t>(); }

  // DWARF's variable-length integers. Bits past the 64th are dropped, as the unwinders do.
  uint64_t uleb() {
    uint64_t v = 0;
    for (unsigned shift = 0;; shift += 7) {
      uint8_t b = u8();
      if (shift < 64) v |= uint64_t(b & 0x7f) << shift;
      if (!(b & 0x80)) return v;
    }
  }
  int64_t sleb() {
    uint64_t v = 0;
    for (unsigned shift = 0;;) {
      uint8_t b = u8();
      if (shift < 64) v |= uint64_t(b & 0x7f) << shift;
      shift += 7;
      if (!(b & 0x80)) {
        if (shift < 64 && (b & 0x40)) v |= ~uint64_t(0) << shift;
        return int64_t(v);
      }
    }
  }
  std::string c_string() {
    std::string s;
    while (char c = char(u8())) s += c;
    return s;
  }

  [[noreturn]] void fail() const {
    throw Error(std::string("damaged ") + what_ + ": it ends too early; use an intact file");
  }

 private:
  ByteView data_;
  const char* what_;
  size_t position_ = 0;
};

template <class T>
void append(Bytes& out, const T& v) {
  static_assert(std::is_trivially_copyable_v<T>);
  const uint8_t* p = reinterpret_cast<const uint8_t*>(&v);
  out.insert(out.end(), p, p + sizeof v);
}

inline void append_bytes(Bytes& out, ByteView v) { out.insert(out.end(), v.begin(), v.end()); }

inline void append_uleb(Bytes& out, uint64_t v) {
  do {
    uint8_t b = v & 0x7f;
    v >>= 7;
    out.push_back(v ? uint8_t(b | 0x80) : b);
  } while (v);
}

inline void append_sleb(Bytes& out, int64_t v) {
  for (;; v >>= 7) {
    const bool last = v >= -0x40 && v < 0x40;
    out.push_back(uint8_t((v & 0x7f) | (last ? 0 : 0x80)));
    if (last) return;
  }
}

// Overwrites what is at `position`, which must lie inside `out`.
template <class T>
void put(Bytes& out, uint64_t position, const T& v) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (position > out.size() || sizeof v > out.size() - position) throw internal_error("write past the end");
  std::memcpy(out.data() + position, &v, sizeof v);
}

// A change to bytes of the original that stay mapped where they are: entry jumps, redirected pointers to code.
struct Patch {
  FileOffset at;
  Bytes bytes;
};

}  // namespace profld

#endif
