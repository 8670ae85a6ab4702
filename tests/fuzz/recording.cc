// The list of counters that prof ctl leaves (prof/read/recording.h), and what is left of a profile that is there. For an
// input of odd size recording is on.

#include "prof/read/recording.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "fuzz.h"
#include "prof/read/error.h"
#include "prof/read/profile.h"
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

bool is_sorted(const std::vector<BlockCounters>& list) {
  return std::ranges::is_sorted(list, {}, &BlockCounters::block);
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
    const prof::Recording recording = prof::parse_control_list(read, size, header);
    check(is_sorted(recording.counters));
    if (!recording.problem.empty()) {
      check(recording.counters.empty());
      return 0;
    }

    prof::Calls calls = prof::Profile::read_whole(example.path).calls();
    std::map<prof_format::Block, BlockCounters> most;
    // What a list takes away leaves no more than there was; what it shows is in it.
    for (const BlockCounters& c : recording.is_on ? prof::list_counters(calls) : recording.counters) most[c.block] = c;
    if (recording.is_on) {
      prof::subtract_counters(calls, header, recording.counters);
    } else {
      prof::replace_counters(calls, header, recording.counters);
    }
    const std::vector<BlockCounters> after = prof::list_counters(calls);
    check(is_sorted(after));
    for (const BlockCounters& c : after) check(c.calls <= most[c.block].calls && c.cycles <= most[c.block].cycles);
    prof::leave_out_empty_nodes(calls);
  } catch (const prof::Error&) {
  }
  return 0;
}
