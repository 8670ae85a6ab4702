// Which words in data are labels of a function, where no relocation tells.

#include "linker-rewrite/jumps/jump_analysis.h"

#include <doctest/doctest.h>

using namespace profld;

namespace {

using Words = std::vector<std::pair<OldAddr, OldAddr>>;

constexpr OldAddr kLabel(0x1234);

Words words(std::initializer_list<uint64_t> at) {
  Words r;
  for (uint64_t a : at) r.emplace_back(OldAddr(a), kLabel);
  return r;
}

}  // namespace

TEST_CASE("a table of labels is one whose address the function names") {
  const LabelWords r = tell_label_words(words({0x2010, 0x2000, 0x2008, 0x9000}), {OldAddr(0x5000), OldAddr(0x2000)});
  CHECK(r.certain == words({0x2000, 0x2008, 0x2010}));
  CHECK(r.doubtful == words({0x9000}));
}

TEST_CASE("the address named may lie before the first label, but not after it") {
  CHECK(tell_label_words(words({0x2100}), {OldAddr(0x2000)}).certain.size() == 1);
  CHECK(tell_label_words(words({0x2108}), {OldAddr(0x2000)}).certain.empty());
  CHECK(tell_label_words(words({0x1ff8}), {OldAddr(0x2000)}).certain.empty());
}

TEST_CASE("a long table with records between its labels is one all through") {
  Words table;
  for (uint64_t a = 0x2000; a < 0x3000; a += 0x40) table.emplace_back(OldAddr(a), kLabel);
  const LabelWords r = tell_label_words(table, {OldAddr(0x2000)});
  CHECK(r.certain.size() == table.size());
  CHECK(r.doubtful.empty());
}

TEST_CASE("nothing is certain when the function names nothing") {
  CHECK(tell_label_words(words({0x2000}), {}).certain.empty());
  CHECK(tell_label_words({}, {OldAddr(0x2000)}).doubtful.empty());
}
