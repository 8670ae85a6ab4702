#include "prof/read/file.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

TEST_CASE("a file is read to its end, or not at all") {
  std::istringstream text(std::string(10000, 'x'));
  CHECK(prof::read_all(text)->size() == 10000);
  std::istringstream nothing;
  CHECK(prof::read_all(nothing) == "");
  std::ifstream missing("/nowhere");
  CHECK(prof::read_all(missing) == "");
  // It can be opened, and each read fails: so does that of a file in /proc of a process that has ended.
  std::ifstream folder("/");
  REQUIRE(folder);
  CHECK(!prof::read_all(folder));
}
