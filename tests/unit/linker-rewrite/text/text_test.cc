#include <doctest/doctest.h>

#include "linker-rewrite/text/numbers.h"

TEST_CASE("text: numbers and bytes in hexadecimal") {
  CHECK(prof_text::hexadecimal_digits(0) == "0");
  CHECK(prof_text::hexadecimal_digits(0x1139) == "1139");
  CHECK(prof_text::hexadecimal(UINT64_MAX) == "0xffffffffffffffff");
  CHECK(prof_text::hexadecimal_of(std::string("\0\xab\xff", 3)) == "00abff");
  CHECK(prof_text::hexadecimal_of("").empty());
}

TEST_CASE("text: how many there are of something") {
  CHECK(prof_text::count_of(0, "call") == "0 calls");
  CHECK(prof_text::count_of(1, "call") == "1 call");
  CHECK(prof_text::count_of(1, "library", "libraries") == "1 library");
  CHECK(prof_text::count_of(2, "library", "libraries") == "2 libraries");
}
