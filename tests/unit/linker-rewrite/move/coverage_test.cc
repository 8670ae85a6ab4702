// When so little of a program has hooks that it is worth a word.

#include "linker-rewrite/move/coverage.h"

#include <doctest/doctest.h>

using namespace profld;

TEST_CASE("coverage is low below 95 % of what could have hooks, but not for start-up code") {
  CHECK(!Coverage{}.is_low());
  CHECK(!Coverage{.hooked = 100, .unknown = 4096}.is_low());
  CHECK(Coverage{.hooked = 100, .unknown = 4097}.is_low());
  CHECK(Coverage{.hooked = 100, .stays = 4097}.is_low());
  CHECK(!Coverage{.hooked = 100, .not_chosen = 50'000, .padding = 50'000}.is_low());
  CHECK(!Coverage{.hooked = 950'000, .unknown = 50'000}.is_low());
  CHECK(Coverage{.hooked = 949'000, .unknown = 51'000}.is_low());
}
