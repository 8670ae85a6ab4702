// Code outside functions, and what of it is padding.

#include "linker-rewrite/move/unknown_code.h"

#include "tests/integration/code_fixture.h"

using namespace code_fixture;

namespace {

// What is padding in the program, between two of its symbols: its size, and after which range it has to move, if any.
struct Found {
  uint64_t size = 0;
  ptrdiff_t if_moved = -1;
};

Found padding_between(const Assembled& a, const std::string& from, const std::string& to) {
  Found found;
  for (const Padding& p : find_padding(a.program, find_unknown_code(a.program)))
    if (p.range.start >= a.address(from) && p.range.start < a.address(to)) {
      REQUIRE(p.range.end <= a.address(to));
      found.size += p.range.size();
      found.if_moved = p.if_moved;
    }
  return found;
}

// A function, these bytes, a function.
Assembled with_bytes_after_function(const std::string& bytes) {
  return Assembled(R"(
    .balign 16
    function before
    ret
    done before
)" + bytes + R"(
    .balign 16
    function after
    ret
    done after
)");
}

}  // namespace

TEST_CASE("code outside functions is what no table describes") {
  const Assembled a(R"(
    function first
    ret
    done first
    .skip 7, 0x90
    function second
    ret
    done second
    .skip 3, 0x90
)");
  const auto outside = code_outside_functions(a.program);
  const auto starts = [&](OldAddr at) { return std::ranges::count(outside, at, &OldRange::start); };
  CHECK(starts(a.address("first") + 1) == 1);
  CHECK(starts(a.address("second") + 1) == 1);
  CHECK(starts(a.address("first")) == 0);
  for (const OldRange& r : outside) CHECK(a.program.range_of(r.start) < 0);
}

TEST_CASE("padding: no-operations and int3 after a function, if it moves") {
  for (const std::string bytes : {".skip 15, 0xcc", ".skip 15, 0x90", ".nops 15"}) {
    CAPTURE(bytes);
    const Assembled a = with_bytes_after_function(bytes);
    const Found found = padding_between(a, "before", "after");
    CHECK(found.size == 15);
    CHECK(found.if_moved == ptrdiff_t(a.range("before")));
  }
}

TEST_CASE("padding: data is none, and neither is what something names") {
  CHECK(padding_between(with_bytes_after_function(".skip 15, 0"), "before", "after").size == 0);
  CHECK(padding_between(with_bytes_after_function(".ascii \"fifteen bytes!!\""), "before", "after").size == 0);
  // Up to the first byte that is something else.
  CHECK(padding_between(with_bytes_after_function(".skip 5, 0xcc; .skip 10, 0"), "before", "after").size == 5);
  CHECK(padding_between(with_bytes_after_function(".skip 5, 0x90; named: .skip 10, 0x90"), "before", "after").size ==
        5);
}

TEST_CASE("padding: after code that no table describes, no-operations of several bytes up to an aligned address") {
  const auto after_unknown_code = [](const std::string& fill) {
    return padding_between(Assembled(R"(
    .balign 16
    function before
    ret
    done before
    .balign 16, 0xf4
unknown:
    xor %ebp, %ebp
    jmp main
)" + fill + R"(
    .balign 16
    function after
    ret
    done after
)"),
                           "unknown", "after");
  };
  const Found several = after_unknown_code(".nops 12");
  CHECK(several.size == 12);
  CHECK(several.if_moved == -1);
  CHECK(after_unknown_code(".skip 12, 0x90").size == 0);  // bytes that may be anything
  CHECK(after_unknown_code(".skip 12, 0").size == 0);
}
