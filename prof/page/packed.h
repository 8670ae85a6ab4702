// Numbers and texts, packed into a page: compressed, and written in letters that HTML leaves alone.
//
// What is packed is a stream of bytes: first a document of JSON, in UTF-8, after its length in four bytes (the least
// significant first). Then columns, one after the other: the length of the name, in a byte; the name; how many numbers
// there are; how many bytes these take, so that a reader can leave them for later; and these. A number is written seven
// bits to the byte, the lowest first, and bit 7 says that more follow. It takes one byte where it is small. So whoever
// adds a column makes its numbers small, as differences from what they are expected to be; a number that may be less
// than nothing comes as `signed_number` writes it.
//
// The stream is compressed as RFC 1950 has it (zlib), which browsers call "deflate", and then written as base64 (RFC
// 4648). prof/page/data.js reads it.

#ifndef PROF_PAGE_PACKED_H
#define PROF_PAGE_PACKED_H

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "prof/views/text/output.h"

namespace prof {

// Bytes as letters, digits, + and /, with = at the end.
std::string base64(std::string_view bytes);

class Packed {
 public:
  // Writes to `out`, which must outlive it. Throws Error if there is no memory.
  explicit Packed(Output& out);
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  ~Packed();

  // To be called first.
  void document(std::string_view json);

  // Begins a column, which `count` numbers follow. A name has at most 127 characters.
  void column(std::string_view name, uint64_t count);
  void number(uint64_t n) { append(column_, n); }
  // 0, -1, 1, -2, 2 are written as 0, 1, 2, 3, 4.
  void signed_number(int64_t n) { number(uint64_t(n) << 1 ^ uint64_t(n >> 63)); }

  // To be called last.
  void finish();

 private:
  static void append(std::string& text, uint64_t number);
  void end_column();
  void compress(std::string_view bytes, int flush);
  void write_letters(std::string_view more);

  Output& out_;
  z_stream stream_ = {};
  std::string column_;   // the numbers of the last column
  std::string heading_;  // what stands before these: its name, and how many there are
  std::string letters_;  // compressed bytes that are not written yet: fewer than three
};

}  // namespace prof

#endif
