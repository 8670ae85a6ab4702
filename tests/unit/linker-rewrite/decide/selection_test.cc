#include "linker-rewrite/decide/selection.h"

#include <doctest/doctest.h>

#include "linker-rewrite/program/fragments.h"
#include "tests/unit/elf_fixture.h"

using namespace profld;

namespace {

// Functions of these names, each a group of its own: `calls` calls `leaf`, `jumps` ends in a jump to it (a tail call),
// and `indirect` in a jump of which the analysis has said that it is one. The last has a fragment and no name.
struct Fixture {
  Image image;
  EhFrame frames;
  Program program;
  static constexpr uint64_t kStart = 0x1000, kSize = 16;

  static OldRange range(uint64_t i) { return {OldAddr(kStart + i * kSize), OldAddr(kStart + (i + 1) * kSize)}; }

  // `type`: ET_EXEC for a program, ET_DYN for a library.
  explicit Fixture(uint16_t type = ET_EXEC) {
    Bytes code(6 * kSize, 0x90);  // nop
    const auto set = [&](uint64_t i, uint64_t at, std::initializer_list<uint8_t> bytes) {
      std::ranges::copy(bytes, code.begin() + long(i * kSize + at));
    };
    set(0, 15, {0xc3});                               // leaf: ret
    set(1, 0, {0xe8, 0xeb, 0xff, 0xff, 0xff, 0xc3});  // calls: call leaf; ret
    set(2, 11, {0xe9, 0xd0, 0xff, 0xff, 0xff});       // jumps: jmp leaf
    set(3, 14, {0xff, 0xe0});                         // indirect: jmp *%rax
    set(4, 11, {0xe9, 0x04, 0x00, 0x00, 0x00});       // without a name: jumps into its fragment
    set(5, 15, {0xc3});
    elf_fixture::SmallElf elf;
    elf.type = type;
    elf.loads.push_back({kStart, PF_R | PF_X, code});
    image = elf.image();
    std::vector<CodeRange> ranges;
    const char* const names[] = {"leaf", "_Z5callsi", "jumps", "indirect"};
    for (uint64_t i = 0; i < 6; ++i) {
      ranges.push_back({.range = range(i), .names = {}});
      if (i < 4) ranges.back().names.push_back(names[i]);
    }
    program = group_functions(image, frames, std::move(ranges));
    REQUIRE(program.ranges[5].group == program.ranges[4].group);
    program.ranges[5].fragment = true;
    group(3).indirect.jumps.push_back(
        {{0, uint32_t(program.code(program.ranges[3]).insns.size() - 1)}, JumpKind::tail_call});
  }

  Group& group(size_t range) { return program.groups[program.ranges[range].group]; }

  // Which of the five functions are selected, as digits.
  std::string selected(const Selection& selection) {
    select_groups(program, selection);
    std::string s;
    for (size_t i = 0; i < 5; ++i)
      if (group(i).selected) s += char('0' + i);
    return s;
  }
};

}  // namespace

TEST_CASE("all functions are selected if nothing is said") {
  Fixture f;
  CHECK(f.selected({}) == "01234");
}

TEST_CASE("-F and -N match names, mangled and demangled, and the addresses of functions without") {
  Fixture f;
  CHECK(f.selected({.only = {"leaf"}}) == "0");
  CHECK(f.selected({.only = {"_Z5calls*"}}) == "1");
  CHECK(f.selected({.only = {"calls(int)"}}) == "1");
  CHECK(f.selected({.only = {"#1040"}}) == "4");
  CHECK(f.selected({.only = {"*"}, .not_ = {"leaf", "j*"}}) == "134");
  CHECK(f.selected({.not_ = {"#*"}}) == "0123");
  CHECK(f.selected({.only = {"leaf"}, .not_ = {"leaf"}}) == "");
  CHECK(f.selected({.only = {"lea"}}) == "");
}

TEST_CASE("--min-size counts a function's fragments as well") {
  Fixture f;
  CHECK(f.selected({.min_size = Fixture::kSize}) == "01234");
  CHECK(f.selected({.min_size = Fixture::kSize + 1}) == "4");
  CHECK(f.selected({.min_size = 2 * Fixture::kSize + 1}) == "");
}

TEST_CASE("a leaf calls nothing, by a tail call either") {
  Fixture f;
  CHECK(is_leaf(f.program, f.group(0)));
  CHECK(!is_leaf(f.program, f.group(1)));
  CHECK(!is_leaf(f.program, f.group(2)));
  CHECK(!is_leaf(f.program, f.group(3)));
  CHECK(is_leaf(f.program, f.group(4)));
  CHECK(f.selected({.no_leaves = true}) == "123");
}

TEST_CASE("of a library, what is too small to time is left out, unless it is asked for") {
  Fixture f(ET_DYN);
  CHECK(f.selected({}) == "123");
  CHECK(f.group(0).left_out == LeftOut::too_small);
  CHECK(!f.group(1).left_out);
  CHECK(f.selected({.all = true}) == "01234");
  CHECK(f.selected({.only = {"leaf"}}) == "0");
  CHECK(!f.group(0).left_out);
}

TEST_CASE("what is selected moves and is hooked, unless something is against it") {
  Fixture f;
  f.group(1).stay({ReasonCode::patched, OldAddr(0x1010)});
  f.group(1).stay(ReasonCode::signal_frame);
  CHECK(f.group(1).reason == Reason(ReasonCode::patched, OldAddr(0x1010)));  // the first
  select_groups(f.program, {.only = {"leaf", "calls*"}});
  CHECK(f.group(0).moves());
  CHECK(f.group(0).hooked);
  CHECK(f.group(1).selected);
  CHECK(!f.group(1).moves());
  CHECK(!f.group(2).moves());
  CHECK(!f.group(2).hooked);
  select_groups(f.program, {.no_hooks = true});
  CHECK(f.group(0).moves());
  CHECK(!f.group(0).hooked);
}
