// The bytes of hand-made gmon.out files, of any machine.

#ifndef TESTS_UNIT_PROF_GMON_BYTES_H
#define TESTS_UNIT_PROF_GMON_BYTES_H

#include <cstdint>
#include <string>
#include <vector>

namespace prof_test {

class GmonBytes {
 public:
  explicit GmonBytes(bool is_big_endian = false, unsigned word = 8) : is_big_endian_(is_big_endian), word_(word) {}

  GmonBytes& number(uint64_t n, unsigned size) {
    for (unsigned i = 0; i < size; ++i) bytes += char(n >> 8 * (is_big_endian_ ? size - 1 - i : i));
    return *this;
  }
  GmonBytes& word(uint64_t n) { return number(n, word_); }
  GmonBytes& text(const std::string& s) {
    bytes += s;
    return *this;
  }

  // GNU's format.
  GmonBytes& header(uint32_t version = 1) { return text("gmon").number(version, 4).text(std::string(12, '\0')); }
  GmonBytes& histogram(uint64_t low, uint64_t high, const std::vector<uint16_t>& bins, uint32_t rate = 100,
                       std::string dimension = "seconds", char abbreviation = 's') {
    dimension.resize(15);
    number(0, 1).word(low).word(high).number(bins.size(), 4).number(rate, 4).text(dimension + abbreviation);
    for (const uint16_t ticks : bins) number(ticks, 2);
    return *this;
  }
  GmonBytes& arc(uint64_t from, uint64_t to, uint32_t calls) {
    return number(1, 1).word(from).word(to).number(calls, 4);
  }

  // BSD's old format, and, with a rate, that of 4.4BSD.
  GmonBytes& bsd_header(uint64_t low, uint64_t high, uint64_t bins, uint32_t rate = 0) {
    const uint64_t size = 2 * word_ + 4 + (rate ? 20 : 0) + 2 * bins;
    word(low).word(high).number(size, 4);
    return rate ? number(0x51879, 4).number(rate, 4).text(std::string(12, '\0')) : *this;
  }
  GmonBytes& bsd_arc(uint64_t from, uint64_t to, uint64_t calls) { return word(from).word(to).word(calls); }

  std::string bytes;

 private:
  bool is_big_endian_;
  unsigned word_;
};

}  // namespace prof_test

#endif
