#include "prof/instructions/remote/system_calls.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace prof::remote;

namespace {

using Values = std::vector<uint64_t>;

Registers call(uint64_t number, uint64_t first, uint64_t second, uint64_t third) {
  Registers r = {};
  r[reg_rax] = number;
  r[reg_rdi] = first;
  r[reg_rsi] = second;
  r[reg_rdx] = third;
  return r;
}

std::string nothing(uint64_t, size_t) { return ""; }

}  // namespace

TEST_CASE("system calls: what they touch") {
  CHECK(SystemCall(call(0, 3, 0x1000, 50), nothing).event(20) == Values{0, 20, 0x1000, 20, 1});       // read
  CHECK(SystemCall(call(1, 3, 0x1000, 50), nothing).event(20) == Values{1, 20, 0x1000, 20, 0});       // write
  CHECK(SystemCall(call(0, 3, 0x1000, 50), nothing).event(uint64_t(-9)) == Values{0, uint64_t(-9)});  // which fails
  CHECK(SystemCall(call(0, 3, 0x1000, 50), nothing).event(uint64_t(-512)) ==
        Values{0, uint64_t(-4)});                                                 // or is interrupted
  CHECK(SystemCall(call(16, 3, 0x1000, 50), nothing).event(0) == Values{16, 0});  // ioctl
  const auto path = [](uint64_t, size_t) { return std::string("/tmp\0rest", 9); };
  CHECK(SystemCall(call(2, 0x2000, 0, 0), path).event(3) == Values{2, 3, 0x2000, 5, 0});  // open
}

TEST_CASE("system calls: buffers that a list names are filled one after the other") {
  const auto list = [](uint64_t address, size_t size) {
    const uint64_t words[] = {0x1000, 10, 0x2000, 10, 0x3000, 10};
    CHECK(address == 0x500);
    CHECK(size == 48);
    return std::string(reinterpret_cast<const char*>(&words), sizeof words);
  };
  CHECK(SystemCall(call(19, 3, 0x500, 3), list).event(15) == Values{19, 15, 0x500, 48, 0, 0x1000, 10, 1, 0x2000, 5, 1});
  // Lists that are not there, or longer than can be.
  CHECK(SystemCall(call(19, 3, 0x500, ~uint64_t(0)), nothing).event(15) == Values{19, 15});
  CHECK(SystemCall(call(46, 3, 0x500, 0), nothing).event(15) == Values{46, 15, 0x500, 56, 0});
}
