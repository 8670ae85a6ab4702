// Where separate debug files are looked for.

#include "linker-rewrite/elf/debug_files.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

namespace {

using profld::DebugLink;

DebugLink link_of(const std::string& section) {
  DebugLink link;
  profld::read_debuglink(section, link);
  return link;
}

size_t place_of(const std::vector<profld::DebugFilePlace>& places, const std::string& path) {
  const auto at =
      std::find_if(places.begin(), places.end(), [&](const profld::DebugFilePlace& p) { return p.path == path; });
  CHECK_MESSAGE(at != places.end(), path);
  return size_t(at - places.begin());
}

}  // namespace

TEST_CASE("a debug link is a name, padding to a multiple of four, and a CRC") {
  const std::string crc = "\x04\x03\x02\x01";
  CHECK(link_of(std::string("abc\0", 4) + crc).name == "abc");
  CHECK(link_of(std::string("abc\0", 4) + crc).crc == 0x01020304);
  CHECK(link_of(std::string("abcd\0\0\0\0", 8) + crc).name == "abcd");
  CHECK(link_of(std::string("abcd\0\0\0\0", 8) + crc).crc == 0x01020304);
}

TEST_CASE("a damaged debug link, or one that leads out of the folders that are searched, is none") {
  const std::string crc = "\x04\x03\x02\x01";
  CHECK(link_of("").name == "");
  CHECK(link_of("abc").name == "");
  CHECK(link_of(std::string("abc\0", 4)).name == "");
  CHECK(link_of(std::string("abc\0\1\2\3", 7)).name == "");
  CHECK(link_of(std::string("\0\0\0\0", 4) + crc).name == "");
  CHECK(link_of(std::string("/etc/passwd\0", 12) + crc).name == "");
  CHECK(link_of(std::string("..\0\0", 4) + crc).name == "");
  CHECK(link_of(std::string("../../x\0", 8) + crc).name == "");
}

TEST_CASE("the user's folders come before /usr/lib/debug, and build-ids before names") {
  setenv("DEBUGINFOD_CACHE_PATH", "/cache", 1);
  const DebugLink link = {"\xab\xcd\xef", "x.debug", 1};
  const auto places = profld::places_of_debug_file(link, {"/mine"}, {"/usr/bin"});
  const size_t mine = place_of(places, "/mine/.build-id/ab/cdef.debug");
  const size_t system = place_of(places, "/usr/lib/debug/.build-id/ab/cdef.debug");
  const size_t beside = place_of(places, "/usr/bin/x.debug");
  CHECK(mine == 0);
  CHECK(mine < system);
  CHECK(system < beside);
  CHECK(beside < place_of(places, "/usr/bin/.debug/x.debug"));
  CHECK(place_of(places, "/mine/usr/bin/x.debug") < place_of(places, "/usr/lib/debug/usr/bin/x.debug"));
  CHECK(place_of(places, "/cache/abcdef/debuginfo") == places.size() - 1);
  for (const profld::DebugFilePlace& place : places) CHECK(place.is_by_name == place.path.ends_with("/x.debug"));
  CHECK(profld::places_of_debug_file({}, {"/mine"}, {"/usr/bin"}).empty());
  unsetenv("DEBUGINFOD_CACHE_PATH");
}

TEST_CASE("what is no xz does not unpack") {
  CHECK(!profld::unpack_xz(""));
  CHECK(
      !profld::unpack_xz("\xfd"
                         "7zXZ and no more"));
}
