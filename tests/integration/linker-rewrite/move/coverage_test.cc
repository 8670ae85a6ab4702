// What becomes of each byte of the code of an assembled program.

#include "linker-rewrite/move/coverage.h"

#include "tests/integration/code_fixture.h"

using namespace code_fixture;

TEST_CASE("coverage: each byte of code is counted once, by what becomes of it") {
  Assembled a(R"(
    .balign 16
    function moves                   # 16 bytes, and 16 of padding
    .skip 15, 0x90
    ret
    done moves
    .skip 16, 0xcc
    function stays                   # 32 bytes
    .skip 31, 0x90
    ret
    done stays
    .skip 100, 0x06                  # no instruction
    .skip 28, 0
    function left_out                # 64 bytes
    .skip 63, 0x90
    ret
    done left_out
    call other@plt
    jmp main
)",
              "gcc -nostdlib -shared");
  for (Group& g : a.program.groups) g.selected = true;
  const Coverage before = coverage_of(a.program);
  a.program.groups[a.group("stays")].stay(ReasonCode::patched);
  a.program.groups[a.group("left_out")].selected = false;
  const Coverage c = coverage_of(a.program);
  uint64_t code = 0;
  for (OldRange r : a.image().code()) code += r.size();
  CHECK(c.all() == code);
  CHECK(before.all() == code);
  CHECK(c.hooked == 16 + 1);  // and main
  CHECK(c.stays == 32);
  CHECK(c.not_chosen == 64);
  CHECK(before.hooked == c.hooked + 32 + 64);
  CHECK(c.unknown >= 100 + 10);  // the blob, and what is after the last function
  CHECK(c.unknown < 100 + 32);
  CHECK(c.padding >= 16 + 28);
  CHECK(c.stubs >= 16);
}
