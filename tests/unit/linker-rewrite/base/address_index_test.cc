#include "linker-rewrite/base/address_index.h"

#include <doctest/doctest.h>

#include <random>

using namespace profld;

TEST_CASE("an index finds what a search finds") {
  std::mt19937_64 random(1);
  for (uint64_t spread : {uint64_t(1), uint64_t(16), uint64_t(1000), uint64_t(1) << 40})
    for (size_t count : {size_t(1), size_t(2), size_t(7), size_t(1000)}) {
      std::vector<OldAddr> starts;
      for (size_t i = 0; i < count; ++i) starts.emplace_back(0x1000 + random() % (spread * count));
      starts.emplace_back(starts.front() + 3);  // close to another, however far they spread
      std::ranges::sort(starts);
      const AddressIndex index(starts);
      auto check = [&](OldAddr a) {
        REQUIRE(index.last_not_above(a) == std::ranges::upper_bound(starts, a) - starts.begin() - 1);
      };
      for (OldAddr s : starts)
        for (uint64_t d : {0, 1, 2}) check(s + d - 1);
      for (uint64_t a : {uint64_t(0), uint64_t(0xfff), uint64_t(1) << 63, UINT64_MAX}) check(OldAddr(a));
      for (int i = 0; i < 1000; ++i) check(OldAddr(random() % (0x2000 + spread * count)));
    }
  CHECK(AddressIndex().last_not_above(OldAddr(5)) == -1);
  CHECK(AddressIndex(std::vector<OldAddr>()).last_not_above(OldAddr(5)) == -1);
}
