// The list of figures that prof ctl leaves (prof/read/limit.h), and what is left of a profile that is there. For an
// input of odd size recording is on.

#include "prof/read/limit.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "fuzz.h"
#include "prof/read/figures.h"
#include "prof/read/message.h"
#include "tests/unit/prof_fixture.h"

namespace {

using prof_format::BlockCounters;

// main calls a and b, a calls c.
struct Example {
  Example() {
    const prof_test::Block thread = w.add_thread();
    const prof_test::Block main = w.add_node(w.root(thread), 100, 1, 1000);
    const prof_test::Block a = w.add_node(main, 200, 20, 2000);
    w.add_node(main, 300, 30, 3000);
    w.add_node(a, 400, 40, 4000);
    w.thread(thread).lost = w.header().lost = 7;
    w.write(path);
  }
  prof_test::TemporaryDirectory dir;
  std::string path = dir / "prof.1";
  prof_test::ProfileWriter w;
};

void check(bool is_so) {
  if (!is_so) std::abort();
}

bool is_sorted(const std::vector<BlockCounters>& figures) {
  return std::ranges::is_sorted(figures, {}, &BlockCounters::block);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Example example;
  prof_format::Header header = example.w.header();
  header.control = prof::control_word(size % 2, 1);
  auto read = [&](void* to, uint64_t wanted, uint64_t offset) {
    const uint64_t n = offset < size ? std::min<uint64_t>(wanted, size - offset) : 0;
    if (n) std::memcpy(to, data + offset, n);
    return n;
  };
  try {
    prof::Limit limit = prof::parse_limit(read, size, header);
    check(is_sorted(limit.figures));
    if (!limit.problem.empty()) {
      check(limit.figures.empty());
      return 0;
    }

    prof::Profile profile = prof::Profile::read_whole(example.path);
    prof::Figures figures(profile);
    std::map<prof_format::Block, BlockCounters> before;
    for (const BlockCounters& f : figures.list()) before[f.block] = f;
    if (limit.is_on) {
      figures.subtract(limit.figures);
    } else {
      figures.replace(limit.figures);
    }
    // What a list takes away leaves no more than there was; what it shows is in it.
    if (!limit.is_on) {
      before.clear();
      for (const BlockCounters& f : limit.figures) before[f.block] = f;
    }
    const std::vector<BlockCounters> after = figures.list();
    check(is_sorted(after));
    for (const BlockCounters& f : after) check(f.calls <= before[f.block].calls && f.cycles <= before[f.block].cycles);
    figures.leave_out_empty();
  } catch (const prof::Error&) {
  }
  return 0;
}
