#include "prof/read/copy_steps.h"

#include <doctest/doctest.h>

#include "linker-rewrite/write/symtab.h"
#include "prof/read/skeleton.h"
#include "tests/unit/prof_fixture.h"

using namespace prof_test;

namespace {

// Twenty bytes at 0x1000 and their copy at 0x9000: a hook of 5 bytes before the first instruction, which is 3 long, and one
// of 6 before the return, the last byte.
profld::RangeCopy hooked_copy(uint64_t original, uint64_t copy) {
  profld::RangeCopy c;
  c.original = {profld::OldAddr(original), profld::OldAddr(original + 20)};
  c.function = c.original.start;
  c.start = profld::NewAddr(copy);
  c.size = 31;
  c.body = 5;
  c.steps = {{0, 0}, {3, 5}, {20, 11}};
  return c;
}

// A file that profld made of two such functions, and of an import between their copies.
ElfWriter made() {
  profld::CopyMap copies;
  copies.add(hooked_copy(0x1000, 0x9000));
  copies.add(hooked_copy(0x2000, 0x8000));
  copies.sort();
  const std::vector<profld::ImportCopy> imports = {{profld::NewAddr(0x8800), 16, profld::OldAddr(0x3000), 0, "strlen"}};
  const profld::Bytes steps = profld::encode_steps(copies, imports);
  ElfWriter e;
  e.rewritten = true;
  e.map = {{0x8000, 0x2000, 0x2000, 31, 20}, {0x8800, 0x3000, 0x3000, 16, 0}, {0x9000, 0x1000, 0x1000, 31, 20}};
  e.steps.assign(steps.begin(), steps.end());
  return e;
}

}  // namespace

TEST_CASE("an address in a copy leads to the instruction that it is of") {
  TemporaryDirectory dir;
  made().write(dir / "program");
  const prof::ElfFile file(dir / "program");
  const prof::ElfFile kept("kept", prof::skeleton_of(file));
  for (const prof::ElfFile* f : {&file, &kept}) {
    const prof::CopySteps steps(*f);
    CHECK(steps.original(0x9000) == 0x1000);  // the hook
    for (uint64_t at = 0x9001; at < 0x9008; ++at) CHECK((steps.original(at) >= 0x1000 && steps.original(at) < 0x1003));
    CHECK(steps.original(0x9008) == 0x1003);
    CHECK(steps.original(0x9017) == 0x1012);
    for (uint64_t at = 0x9018; at < 0x901f; ++at) CHECK(steps.original(at) == 0x1013);  // the hook and the return
    CHECK(steps.original(0x8008) == 0x2003);
    CHECK(steps.original(0x8805) == 0x3000);  // an import has no instructions
    // What was left where it was.
    for (uint64_t at : {0x1005, 0x7fff, 0x801f, 0x901f, 0xffffff}) CHECK(steps.original(at) == at);
  }
}

TEST_CASE("of a copy whose instructions are not known, an address leads to the start") {
  TemporaryDirectory dir;
  ElfWriter e = made();
  auto original = [&](uint64_t address) {
    e.write(dir / "program");
    return prof::CopySteps(prof::ElfFile(dir / "program")).original(address);
  };
  const std::string whole = e.steps;
  e.steps = "";  // as profld wrote files before
  CHECK(original(0x9008) == 0x1000);
  e.steps = whole;
  e.steps[0] = 'x';
  CHECK(original(0x9008) == 0x1000);
  e.steps = whole;
  e.steps[8] = 2;  // of another map
  CHECK(original(0x9008) == 0x1000);
  // Cut off anywhere, or with any byte changed, it leads into the same function.
  for (size_t size = 0; size < whole.size(); ++size) {
    e.steps = whole.substr(0, size);
    CHECK((original(0x9008) >= 0x1000 && original(0x9008) < 0x1014));
  }
  for (size_t i = sizeof(prof_format::StepsHeader); i < whole.size(); ++i) {
    for (const char changed : {'\x00', '\x01', '\x7f', '\xff'}) {
      e.steps = whole;
      e.steps[i] = changed;
      CHECK((original(0x9008) >= 0x1000 && original(0x9008) < 0x1014));
    }
  }
}
