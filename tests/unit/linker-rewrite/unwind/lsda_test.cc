// A table of exception handlers put together here, and where its landing pads are in a copy.

#include "linker-rewrite/unwind/lsda.h"

#include <doctest/doctest.h>

#include <utility>

#include "tests/unit/elf_fixture.h"

using namespace elf_fixture;

TEST_CASE("lsda: landing pads in other copies, at the start, and where nothing moved") {
  // The function at 0x1000 (moved to 0x9000), its fragment at 0x2000 (moved below it, to 0x8000), another that stays,
  // at 0x3000.
  const OldRange function{OldAddr(0x1000), OldAddr(0x1100)};
  const Bytes actions = {1, 0};
  const auto written = [&](OldAddr first_pad, OldAddr second_pad) {
    Lsda lsda;
    lsda.call_sites = {{{OldAddr(0x1000), OldAddr(0x1005)}, OldAddr(), 0},
                       {{OldAddr(0x1010), OldAddr(0x1015)}, first_pad, 1},
                       {{OldAddr(0x1020), OldAddr(0x1100)}, second_pad, 0}};
    lsda.actions = actions;
    lsda.has_types = true;
    lsda.types = {OldAddr(0x3500)};
    CopyMap copies;
    copies.add({.original = function,
                .function = function.start,
                .start = NewAddr(0x9000),
                .size = 0x120,
                .steps = {{0, 0}, {1, 6}, {0x13, 0x10}}});
    copies.add({.original = {OldAddr(0x2000), OldAddr(0x2100)},
                .function = function.start,
                .start = NewAddr(0x8000),
                .size = 0x100,
                .steps = {{0, 0}}});
    copies.sort();
    Bytes table(3);
    append_lsda(table, NewAddr(0xa000), lsda, {function, copies.find(function.start)}, copies);
    SmallElf elf;
    elf.loads = {{0x1000, PF_R | PF_X, Bytes(0x3000)}, {0x8000, PF_R | PF_X, Bytes(0x2000)}, {0xa000, PF_R, table}};
    const Image image = elf.image();
    Fde fde;
    fde.range = {OldAddr(0x9000), OldAddr(0x9120)};
    fde.lsda = OldAddr(0xa003);
    auto found = read_lsda(image, EhFrame(), fde);
    REQUIRE(found);
    REQUIRE(found->call_sites.size() == 3);
    CHECK(found->call_sites[0].landing_pad == OldAddr());
    CHECK(found->call_sites[1].range.start == OldAddr(0x9016));
    CHECK(found->call_sites[1].range.end == OldAddr(0x9025));
    CHECK(found->call_sites[2].range.end == OldAddr(0x9120));
    CHECK(found->types == lsda.types);
    return std::pair(found->call_sites[1].landing_pad.value, found->call_sites[2].landing_pad.value);
  };
  CHECK(written(OldAddr(0x1080), OldAddr(0x1040)) == std::pair<uint64_t, uint64_t>(0x9090, 0x9050));
  CHECK(written(OldAddr(0x2010), OldAddr(0x2000)) == std::pair<uint64_t, uint64_t>(0x8010, 0x8000));
  CHECK(written(OldAddr(0x1000), OldAddr(0x2000)) == std::pair<uint64_t, uint64_t>(0x9000, 0x8000));
  CHECK(written(OldAddr(0x3000), OldAddr(0x1080)) == std::pair<uint64_t, uint64_t>(0x3000, 0x9090));
}
