#include "prof/read/recording.h"

#include <doctest/doctest.h>

#include "prof/read/error.h"
#include "prof/read/profile.h"
#include "tests/unit/prof_fixture.h"

using namespace prof_test;
using prof::Profile;
using prof::Recording;
using prof_format::BlockCounters;

namespace {

// main calls a and b, a calls c. The first thread's block is after the header's six.
struct Example {
  Example() {
    thread = w.add_thread();
    main = w.add_node(w.root(thread), 100, 1, 1000);
    a = w.add_node(main, 200, 20, 2000);
    b = w.add_node(main, 300, 30, 3000);
    c = w.add_node(a, 400, 40, 4000);
    w.thread(thread).lost = 7;
    w.header().lost = 8;
    w.write(path);
  }
  // The profile limited by a list, after the header was told that there is one.
  Profile limited(bool is_on, std::vector<BlockCounters> counters) {
    w.header().control = prof::control_word(is_on, 1);
    w.write(path);
    Recording recording;
    recording.is_on = is_on;
    recording.changes = 1;
    recording.counters = std::move(counters);
    prof::write_control_list(recording, path, w.header());
    return Profile::read(path);
  }

  TemporaryDirectory dir;
  std::string path = dir / "prof.1";
  ProfileWriter w;
  Block thread, main, a, b, c;
};

// The tree in one line: pc:calls:self, children in parentheses.
std::string text(const std::vector<prof::RecordedNode>& nodes, const prof::RecordedNode& parent) {
  std::string s;
  for (uint32_t i = parent.first_child; i < parent.first_child + parent.child_count; ++i) {
    const prof::RecordedNode& n = nodes[i];
    s += (s.empty() ? "" : " ") + std::to_string(n.pc) + ":" + std::to_string(n.calls) + ":" +
         std::to_string(uint64_t(n.cycles.count));
    if (n.child_count) s += "(" + text(nodes, n) + ")";
  }
  return s;
}
std::string text(const std::vector<prof::RecordedNode>& nodes) { return text(nodes, nodes[0]); }
std::string text(const Profile& p) { return text(p.threads()[0].nodes); }

const prof::RecordedNode* node(const Profile& p, Block block) {
  for (const prof::RecordedNode& n : p.threads()[0].nodes)
    if (n.block == block) return &n;
  return nullptr;
}

std::string problem_of(const std::string& bytes, const prof_format::Header& header) {
  auto read = [&](void* to, uint64_t size, uint64_t offset) -> uint64_t {
    const std::string part = offset < bytes.size() ? bytes.substr(offset, size) : "";
    std::memcpy(to, part.data(), part.size());
    return part.size();
  };
  const Recording recording = prof::parse_control_list(read, bytes.size(), header);
  CHECK((recording.problem.empty() || recording.counters.empty()));
  return recording.problem;
}

}  // namespace

TEST_CASE("while recording is on, the counters of a list are subtracted, and nothing gets less than 0") {
  Example e;
  const Profile p = e.limited(true, {{3, 2000, 0}, {7, 9, e.thread}, {0, 400, e.main}, {5, 2500, e.a}, {41, 1, e.c}});
  CHECK(text(p) == "100:1:600(200:15:0(400:0:3999) 300:30:3000)");
  CHECK(p.calls().lost == 5);
  CHECK(p.threads()[0].lost == 0);
  CHECK(p.lifetime() == kEnd - kStart);
  CHECK(p.recorded() == kEnd - kStart - 2000);
  CHECK(p.recording().is_limited());
}

TEST_CASE("while recording is off, the counters of a list are shown and no others") {
  Example e;
  const Profile p = e.limited(false, {{0, 500, 0}, {1, 10, e.main}, {2, 20, e.b}});
  CHECK(text(p) == "100:1:10(300:2:20)");
  CHECK(p.calls().lost == 0);
  CHECK(p.recorded() == 500);
}

TEST_CASE("a context without counters stays if it leads to one that has some") {
  Example e;
  CHECK(text(e.limited(false, {{1, 0, e.c}})) == "100:0:0(200:0:0(400:1:0))");
  CHECK(text(e.limited(false, {{0, 1, e.b}})) == "100:0:0(300:0:1)");
  CHECK(text(e.limited(false, {})) == "");
}

TEST_CASE("counters of blocks that are no nodes change nothing") {
  Example e;
  const Profile p = e.limited(false, {{1, 1, 1}, {1, 1, e.main}, {1, 1, e.c + 100}});
  CHECK(text(p) == "100:1:1");
}

TEST_CASE("an impossible time in a list is shown as the nearest possible one, and marked") {
  Example e;
  const Profile p = e.limited(false, {{1, UINT64_MAX, e.main}, {1, 7, e.b}});
  CHECK(node(p, e.main)->cycles.count == double(kEnd - kStart));
  CHECK(node(p, e.main)->has_impossible_time);
  CHECK_FALSE(node(p, e.b)->has_impossible_time);
}

TEST_CASE("the list of one state turns into that of the other by subtracting it") {
  Example e;
  const prof_format::Header header = e.w.header();
  prof::Calls now = Profile::read_whole(e.path).calls();
  prof::subtract_counters(now, header, {{0, 1000, e.main}, {15, 500, e.a}});
  const std::vector<BlockCounters> list = prof::list_counters(now);
  const Profile off = e.limited(false, list);
  CHECK(text(off) == "100:1:0(200:5:1500(400:40:4000) 300:30:3000)");
  // Switched on again at once, it is the same.
  prof::Calls again = Profile::read_whole(e.path).calls();
  prof::subtract_counters(again, header, list);
  CHECK(text(e.limited(true, prof::list_counters(again))) == text(off));
}

TEST_CASE("a function that runs has its time up to the moment of the change") {
  Example e;
  e.w.header().pid = e.w.thread(e.thread).tid = 4000000;  // more than the kernel ever gives out
  e.w.thread(e.thread).last_tsc = kEnd - 600;
  e.w.add_stack(e.thread, {{e.main}, {e.b}});
  e.w.write(e.path);
  uint64_t cycles = 0;
  for (const BlockCounters& c : prof::list_counters(Profile::read_whole(e.path).calls()))
    cycles += c.block == e.b ? c.cycles : 0;
  CHECK(cycles == 3600);
  CHECK(node(e.limited(true, {{0, 100, e.b}}), e.b)->cycles.count == 3500);
}

TEST_CASE("what is damaged is left to those who tell of it") {
  Example e;
  e.w.node(e.a).count = uint64_t(1) << 62;
  CHECK(text(e.limited(false, {{1, 0, e.main}})) == "100:1:0(200:4611686018427387904:2000)");
  e.w.node(e.c).sibling = e.c;
  e.w.node(e.b).sibling = e.b;
  const Profile p = e.limited(false, {});
  CHECK(node(p, e.main)->children == prof::RecordedNode::Children::broken);
  CHECK(node(p, e.main)->calls == 0);
}

TEST_CASE("a profile that was never limited needs no list, and one that began switched off shows nothing") {
  Example e;
  CHECK_FALSE(Profile::read(e.path).recording().is_limited());
  CHECK(text(Profile::read(e.path)) == "100:1:1000(200:20:2000(400:40:4000) 300:30:3000)");
  write_file(prof::control_list_path(e.path), "no list");
  CHECK(Profile::read(e.path).recording().problem.empty());
  e.w.header().control = 0;
  e.w.write(e.path);
  const Profile p = Profile::read(e.path);
  CHECK(p.recording().is_never_on());
  CHECK(text(p).empty());
  CHECK(p.recorded() == 0);
}

TEST_CASE("the list is called after the profile") {
  CHECK(prof::control_list_path("prof.1") == "ctl.prof.1");
  CHECK(prof::control_list_path("/a/prof.1.2") == "/a/ctl.prof.1.2");
}

TEST_CASE("a list that is damaged or another's is not used") {
  Example e;
  e.limited(true, {{1, 1, e.main}, {1, 1, e.a}, {1, 1, e.c}});
  const std::string bytes = read_file(prof::control_list_path(e.path));
  const prof_format::Header header = e.w.header();
  CHECK(problem_of(bytes, header).empty());
  for (size_t size = 0; size < bytes.size(); ++size) CHECK(problem_of(bytes.substr(0, size), header) == "is cut off");
  CHECK(problem_of(bytes + "x", header) == "is cut off");
  auto with = [&](size_t at, char byte) {
    std::string other = bytes;
    other[at] = byte;
    return problem_of(other, header);
  };
  CHECK(with(0, 'x') == "was not made by prof ctl");
  for (const size_t field : {8, 12, 16})
    CHECK(with(field, 9) == "is of a version that this prof does not know, or damaged");
  CHECK(with(20, 2) == "is cut off");
  CHECK(with(23, 1) == "is cut off");
  CHECK(with(24, 1) == "is older than the last change");
  CHECK(with(24, 5).empty());
  for (const size_t field : {28, 32, 40, 48}) CHECK(with(field, 99) == "is that of another process");
  CHECK(with(64 + 16, char(e.c)) == "is damaged");
  CHECK(with(64 + sizeof(prof_format::BlockCounters) + 16, char(e.main)) == "is damaged");
}

TEST_CASE("a list that cannot be written leaves the old one and nothing else") {
  Example e;
  e.limited(true, {});
  std::filesystem::create_directory(e.dir / "other");
  std::filesystem::create_directory(e.dir / "other/ctl.prof.1");
  e.w.write(e.dir / "other/prof.1");
  CHECK_THROWS_AS(prof::write_control_list(Recording(), e.dir / "other/prof.1", e.w.header()), prof::Error);
  CHECK_THROWS_AS(prof::write_control_list(Recording(), e.dir / "nowhere/prof.1", e.w.header()), prof::Error);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::recursive_directory_iterator(e.dir.path())) files++;
  CHECK(files == 5);
}
