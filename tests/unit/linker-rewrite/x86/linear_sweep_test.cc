#include "linker-rewrite/x86/linear_sweep.h"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "tests/unit/elf_fixture.h"

using namespace elf_fixture;

namespace {

constexpr uint64_t kStart = 0x10003;  // not aligned
constexpr uint64_t kSize = 200'000;   // several pieces

// Bytes that may be anything.
SmallElf random_code() {
  std::mt19937 random(7);
  SmallElf elf;
  elf.loads.push_back({0x10000, PF_R | PF_X, Bytes(kSize + 3)});
  for (uint8_t& byte : elf.loads[0].bytes) byte = uint8_t(random());
  return elf;
}

}  // namespace

TEST_CASE("a sweep in pieces finds what one sweep finds") {
  const Image image = random_code().image();
  const OldRange all{OldAddr(kStart), OldAddr(kStart + kSize)};
  std::set<OldAddr> once, in_pieces;
  std::set<std::pair<OldAddr, OldAddr>> targets, targets_in_pieces;
  linear_sweep(image, all, [&](OldAddr at, const CachedInsn&, std::optional<OldAddr> target) {
    CHECK(once.insert(at).second);
    if (target) targets.emplace(at, *target);
  });
  const auto pieces = pieces_to_sweep({all});
  REQUIRE(pieces.size() > 2);
  OldAddr end = all.start;
  for (const PieceToSweep& p : pieces) {
    CHECK(p.part.start == end);
    end = p.part.end;
    linear_sweep(image, p.range, p.part, [&](OldAddr at, const CachedInsn&, std::optional<OldAddr> target) {
      in_pieces.insert(at);
      if (target) targets_in_pieces.emplace(at, *target);
    });
  }
  CHECK(end == all.end);
  CHECK(once.size() > kSize / 8);
  CHECK(once == in_pieces);
  CHECK(targets == targets_in_pieces);
}
