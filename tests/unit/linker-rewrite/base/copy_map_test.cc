#include "linker-rewrite/base/copy_map.h"

#include <doctest/doctest.h>

using namespace profld;

namespace {

// Twenty bytes at 0x1000 with a hook of 5 bytes at the entry (the first instruction is 3 long) and one before the
// return.
RangeCopy hooked_copy() {
  RangeCopy c;
  c.original = {OldAddr(0x1000), OldAddr(0x1014)};
  c.function = c.original.start;
  c.start = NewAddr(0x9000);
  c.size = 30;
  c.body = 5;
  c.steps = {{0, 0}, {3, 5}, {20, 10}};
  return c;
}

}  // namespace

TEST_CASE("an instruction's place in the copy takes in the hook before it") {
  const RangeCopy c = hooked_copy();
  CHECK(c.address(OldAddr(0x1000)) == NewAddr(0x9000));
  CHECK(c.address(OldAddr(0x1003)) == NewAddr(0x9008));
  CHECK(c.address(OldAddr(0x1013)) == NewAddr(0x9018));
  CHECK(c.offset(20) == 30);  // the end
}

TEST_CASE("the copy that contains an address is found, and none where there is none") {
  CopyMap map;
  RangeCopy later = hooked_copy();
  later.original = {OldAddr(0x2000), OldAddr(0x2001)};
  map.add(later);
  map.add(hooked_copy());
  map.sort();
  REQUIRE(map.copies().size() == 2);
  CHECK(map.find(OldAddr(0xfff)) == nullptr);
  CHECK(map.find(OldAddr(0x1000)) == &map.copies()[0]);
  CHECK(map.find(OldAddr(0x1013)) == &map.copies()[0]);
  CHECK(map.find(OldAddr(0x1014)) == nullptr);
  CHECK(map.find(OldAddr(0x2000)) == &map.copies()[1]);
  CHECK(map.find(OldAddr(0x2001)) == nullptr);
}
