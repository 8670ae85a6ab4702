// What a gmon.out says.

#ifndef TESTS_UNIT_PROF_GMON_H
#define TESTS_UNIT_PROF_GMON_H

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>

namespace prof_test {

// A gmon.out, as gprof reads it.
struct Gmon {
  std::map<uint64_t, double> seconds;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> arcs;
  int histograms = 0, arc_records = 0;

  explicit Gmon(const std::string& bytes) {
    size_t at = 20;
    auto number = [&](size_t size) {
      uint64_t n = 0;
      REQUIRE(at + size <= bytes.size());
      std::memcpy(&n, bytes.data() + at, size);
      at += size;
      return n;
    };
    CHECK(bytes.substr(0, 8) == std::string("gmon\1\0\0\0", 8));
    while (at < bytes.size()) {
      if (number(1) == 0) {
        ++histograms;
        const uint64_t low = number(8), high = number(8);
        const uint64_t bins = number(4);
        CHECK(high == low + 2 * bins);
        CHECK(low % 2 == 0);
        const uint64_t rate = number(4);
        CHECK(rate >= 1);
        CHECK(bytes.substr(at, 16) == std::string("seconds\0\0\0\0\0\0\0\0s", 16));
        at += 16;
        for (uint64_t bin = 0; bin < bins; ++bin)
          if (const uint64_t ticks = number(2)) seconds[low + 2 * bin] += double(ticks) / double(rate);
      } else {
        ++arc_records;
        const uint64_t from = number(8), to = number(8);
        arcs[{from, to}] += number(4);
      }
    }
  }
};

}  // namespace prof_test

#endif
