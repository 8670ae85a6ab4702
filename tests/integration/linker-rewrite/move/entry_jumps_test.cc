// The jumps from the entries of functions to their copies, and where there is room for them.

#include "linker-rewrite/move/entry_jumps.h"

#include "tests/integration/code_fixture.h"

using namespace code_fixture;

namespace {

// The entry jumps of a program of which all moves but the functions named.
struct Placed {
  std::vector<EntryJump> jumps;
  std::vector<Group> groups;  // as they are then

  explicit Placed(Assembled& a, const std::vector<std::string>& stay = {}) {
    for (Group& g : a.program.groups) g.selected = true;
    for (const std::string& name : stay) a.program.groups[a.group(name)].selected = false;
    jumps = place_entry_jumps(a.program);
    groups = a.program.groups;
  }

  // The one for an arrival; null if there is none.
  const EntryJump* at(OldAddr arrival) const {
    const auto j = std::ranges::find(jumps, arrival, &EntryJump::arrival);
    return j != jumps.end() ? &*j : nullptr;
  }
};

// 64 bytes, and then the function f of these instructions, and directly after it another.
std::string function_between(const std::string& instructions) {
  return R"(
    function before
    .skip 63, 0x90
    ret
    done before
    function f
)" + instructions +
         R"(
    done f
    function after
    .skip 15, 0x90
    ret
    done after
)";
}

}  // namespace

TEST_CASE("entry jumps: five bytes at the entry, after ENDBR64") {
  Assembled a(function_between("mov $1, %eax\n ret") +
              "function checked\n endbr64\n mov $1, %eax\n ret\n done checked\n");
  const Placed p(a);
  const EntryJump* f = p.at(a.address("f"));
  REQUIRE(f);
  CHECK(f->from == a.address("f"));
  CHECK(f->island == OldAddr());
  CHECK(f->range == a.range("f"));
  const EntryJump* checked = p.at(a.address("checked"));
  REQUIRE(checked);
  CHECK(checked->from == a.address("checked") + 4);
  CHECK(checked->island == OldAddr());
}

TEST_CASE("entry jumps: a short function's jump leads to an island in dead code near it") {
  Assembled a(function_between("xor %eax, %eax\n ret"));
  const Placed p(a);
  for (const std::string name : {"before", "f", "after"}) CHECK_MESSAGE(p.groups[a.group(name)].moves(), name);
  const EntryJump* f = p.at(a.address("f"));
  REQUIRE(f);
  CHECK(f->from == a.address("f"));
  REQUIRE(f->island != OldAddr());
  // In what moved, off all jumps, and within reach of a jump of two bytes.
  const ptrdiff_t in = a.program.range_of(f->island);
  REQUIRE(in >= 0);
  CHECK(p.groups[a.program.ranges[size_t(in)].group].moves());
  const int64_t distance = int64_t(f->island - (f->from + 2));
  CHECK(distance >= -128);
  CHECK(distance <= 127);
  for (const EntryJump& other : p.jumps) CHECK((f->island >= other.from + 5 || f->island + 5 <= other.arrival));
}

TEST_CASE("entry jumps: a function without room for one stays") {
  SUBCASE("one byte") {
    Assembled a(function_between("ret"));
    const Placed p(a);
    CHECK(!p.groups[a.group("f")].moves());
    CHECK(p.groups[a.group("before")].moves());
    CHECK(!p.at(a.address("f")));
  }
  SUBCASE("two bytes, and no dead code near it") {
    Assembled a(function_between("nop\n ret"));
    const Placed p(a, {"main", "before", "after"});
    CHECK(!p.groups[a.group("f")].moves());
  }
  SUBCASE("two bytes, and no five bytes of dead code on end near it") {
    Assembled a(R"(
    function before
    .skip 8, 0x90
    ret
    done before
    function f
    nop
    ret
    done f
    function after
    .skip 8, 0x90
    ret
    done after
)");
    const Placed p(a, {"main"});
    CHECK(p.groups[a.group("before")].moves());
    CHECK(!p.groups[a.group("f")].moves());
  }
  SUBCASE("its neighbours' jumps are found all the same") {
    Assembled a(function_between("ret"));
    const Placed p(a);
    CHECK(p.at(a.address("before")));
    CHECK(p.at(a.address("after")));
  }
}

TEST_CASE("entry jumps: padding after a function is room for its jump") {
  Assembled a(R"(
    .balign 16
    function f
    ret
    done f
    .balign 16
    function after
    ret
    done after
)");
  const Placed p(a);
  const EntryJump* f = p.at(a.address("f"));
  REQUIRE(f);
  CHECK(f->island == OldAddr());
  CHECK(p.groups[a.group("f")].moves());
}

TEST_CASE("entry jumps: where code that no table describes jumps into a function that moved") {
  Assembled a(R"(
    .balign 16
    jmp inside
    .balign 16
    function f
    mov $1, %eax
inside:
    mov $2, %eax
    ret
    done f
)");
  const Placed p(a);
  const EntryJump* inside = p.at(a.address("inside"));
  REQUIRE(inside);
  CHECK(inside->range == a.range("f"));
  CHECK(inside->from == a.address("inside"));
  REQUIRE(p.at(a.address("f")));

  // The same where nothing moves: no jumps at all.
  const Placed none(a, {"f", "main"});
  CHECK(none.jumps.empty());
}

TEST_CASE("entry jumps: a function that stays and jumps to one that moved arrives at its entry") {
  Assembled a(R"(
    function f
    mov $1, %eax
    ret
    done f
    function stays
    mov $2, %eax
    jmp f
    done stays
)");
  const Placed p(a, {"stays"});
  CHECK(std::ranges::count(p.jumps, a.address("f"), &EntryJump::arrival) == 1);
  CHECK(!p.at(a.address("stays")));
}
