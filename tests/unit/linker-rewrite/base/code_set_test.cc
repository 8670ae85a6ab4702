#include "linker-rewrite/base/code_set.h"

#include <doctest/doctest.h>

using namespace profld;

TEST_CASE("a set of addresses in code finds the next one, in each part of the code") {
  CodeSet set({{OldAddr(0x1000), OldAddr(0x1100)}, {OldAddr(0x5003), OldAddr(0x5103)}});
  const auto next = [&](uint64_t from, uint64_t limit) { return set.next(OldAddr(from), OldAddr(limit)).value; };
  CHECK(next(0x1000, 0x1100) == 0x1100);
  for (uint64_t a : {0x1000, 0x103f, 0x1040, 0x10ff, 0x5003, 0x5102, 0xfff, 0x1100, 0x5103}) set.add(OldAddr(a));
  set.add(OldAddr(0x103f));
  CHECK(next(0x1000, 0x1100) == 0x1000);
  CHECK(next(0x1001, 0x1100) == 0x103f);
  CHECK(next(0x1001, 0x103f) == 0x103f);  // the limit
  CHECK(next(0x1001, 0x1020) == 0x1020);
  CHECK(next(0x1040, 0x1100) == 0x1040);
  CHECK(next(0x1041, 0x1100) == 0x10ff);
  CHECK(next(0x5003, 0x5103) == 0x5003);
  CHECK(next(0x5004, 0x5103) == 0x5102);
  CHECK(next(0x1000, 0x1000) == 0x1000);
  CHECK(next(0x2000, 0x2010) == 0x2010);  // in no code
}

TEST_CASE("a set of addresses in code says what is in it") {
  CodeSet set({{OldAddr(0x1000), OldAddr(0x1100)}, {OldAddr(0x5003), OldAddr(0x5103)}});
  for (uint64_t a : {0x1000, 0x103f, 0x5003, 0x5102, 0x1100}) set.add(OldAddr(a));
  for (uint64_t a : {0x1000, 0x103f, 0x5003, 0x5102}) CHECK(set.contains(OldAddr(a)));
  for (uint64_t a : {0x1001, 0x1040, 0x5004, 0xfff, 0x1100, 0x5103, 0x2000}) CHECK_FALSE(set.contains(OldAddr(a)));
  set.remove(OldAddr(0x103f));
  set.remove(OldAddr(0x2000));
  CHECK_FALSE(set.contains(OldAddr(0x103f)));
  CHECK(set.contains(OldAddr(0x1000)));
}
