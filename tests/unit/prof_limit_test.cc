#include <doctest/doctest.h>

#include "prof/read/figures.h"
#include "prof/read/limit.h"
#include "prof/read/message.h"
#include "prof/read/profile.h"
#include "prof_fixture.h"

using namespace prof_test;
using prof::Figures;
using prof::Limit;
using prof::Profile;
using prof_format::BlockCounters;

namespace {

// main calls a and b, a calls c. The first thread's block is behind the header's six.
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
  Profile limited(bool is_on, std::vector<BlockCounters> figures) {
    w.header().control = prof::control_word(is_on, 1);
    w.write(path);
    Limit limit;
    limit.is_on = is_on;
    limit.changes = 1;
    limit.figures = std::move(figures);
    prof::write_limit(limit, path, w.header());
    return Profile::read(path);
  }

  TemporaryDirectory dir;
  std::string path = dir / "prof.1";
  ProfileWriter w;
  Block thread, main, a, b, c;
};

// The tree in one line: pc:calls:self, children in parentheses.
std::string text(const Profile& p, Block parent) {
  std::string s;
  for (Block at = p.node(parent)->child; at != 0; at = p.node(at)->sibling) {
    const prof_format::Node* n = p.node(at);
    s += (s.empty() ? "" : " ") + std::to_string(n->pc) + ":" + std::to_string(n->count) + ":" +
         std::to_string(n->cycles);
    if (n->child) s += "(" + text(p, at) + ")";
  }
  return s;
}
std::string text(const Profile& p) { return text(p, p.threads()[0].root); }

std::string problem_of(const std::string& bytes, const prof_format::Header& header) {
  auto read = [&](void* to, uint64_t size, uint64_t offset) -> uint64_t {
    const std::string part = offset < bytes.size() ? bytes.substr(offset, size) : "";
    std::memcpy(to, part.data(), part.size());
    return part.size();
  };
  const Limit limit = prof::parse_limit(read, bytes.size(), header);
  CHECK((limit.problem.empty() || limit.figures.empty()));
  return limit.problem;
}

}  // namespace

TEST_CASE("while recording is on, the figures of a list are subtracted, and nothing gets less than 0") {
  Example e;
  const Profile p = e.limited(true, {{3, 2000, 0}, {7, 9, e.thread}, {0, 400, e.main}, {5, 2500, e.a}, {41, 1, e.c}});
  CHECK(text(p) == "100:1:600(300:30:3000 200:15:0(400:0:3999))");
  CHECK(p.header().lost == 5);
  CHECK(p.threads()[0].lost == 0);
  CHECK(p.lifetime() == kEnd - kStart);
  CHECK(p.recorded() == kEnd - kStart - 2000);
  CHECK(p.limit().is_limited());
}

TEST_CASE("while recording is off, the figures of a list are shown and no others") {
  Example e;
  const Profile p = e.limited(false, {{0, 500, 0}, {1, 10, e.main}, {2, 20, e.b}});
  CHECK(text(p) == "100:1:10(300:2:20)");
  CHECK(p.header().lost == 0);
  CHECK(p.recorded() == 500);
}

TEST_CASE("a context without figures stays if it leads to one that has some") {
  Example e;
  CHECK(text(e.limited(false, {{1, 0, e.c}})) == "100:0:0(200:0:0(400:1:0))");
  CHECK(text(e.limited(false, {{0, 1, e.b}})) == "100:0:0(300:0:1)");
  CHECK(text(e.limited(false, {})) == "");
}

TEST_CASE("figures of blocks that are no nodes change nothing") {
  Example e;
  const Profile p = e.limited(false, {{1, 1, 1}, {1, 1, e.main}, {1, 1, e.c + 100}});
  CHECK(text(p) == "100:1:1");
}

TEST_CASE("the list of one state turns into that of the other by subtracting it") {
  Example e;
  Profile p = Profile::read_whole(e.path);
  Figures now(p);
  now.subtract({{0, 1000, e.main}, {15, 500, e.a}});
  const std::vector<BlockCounters> list = now.list();
  const Profile off = e.limited(false, list);
  CHECK(text(off) == "100:1:0(300:30:3000 200:5:1500(400:40:4000))");
  // Switched on again at once, it is the same.
  Profile q = Profile::read_whole(e.path);
  Figures again(q);
  again.subtract(list);
  CHECK(text(e.limited(true, again.list())) == text(off));
}

TEST_CASE("a function that runs has its time up to the moment of the change") {
  Example e;
  e.w.header().pid = e.w.thread(e.thread).tid = 4000000;  // more than the kernel ever gives out
  e.w.thread(e.thread).last_tsc = kEnd - 600;
  e.w.add_stack(e.thread, {{e.main}, {e.b}});
  e.w.write(e.path);
  Profile p = Profile::read_whole(e.path);
  Figures now(p);
  uint64_t cycles = 0;
  for (const BlockCounters& f : now.list()) cycles += f.block == e.b ? f.cycles : 0;
  CHECK(cycles == 3600);
  // It is in the figures then, and not added once more.
  const Profile later = e.limited(true, {{0, 100, e.b}});
  CHECK(later.node(e.b)->cycles == 3500);
  CHECK(later.threads()[0].since == 0);
}

TEST_CASE("what is damaged is left to those who tell of it") {
  Example e;
  e.w.node(e.a).count = uint64_t(1) << 62;
  CHECK(text(e.limited(false, {{1, 0, e.main}})) == "100:1:0(200:4611686018427387904:2000)");
  e.w.node(e.c).sibling = e.c;
  e.w.node(e.b).sibling = e.b;
  const Profile p = e.limited(false, {});
  CHECK(p.node(e.b)->sibling == e.b);
  CHECK(p.node(e.main)->count == 0);
}

TEST_CASE("a profile that was never limited needs no list, and one that began switched off shows nothing") {
  Example e;
  CHECK_FALSE(Profile::read(e.path).limit().is_limited());
  CHECK(text(Profile::read(e.path)) == "100:1:1000(300:30:3000 200:20:2000(400:40:4000))");
  write_file(prof::limit_path(e.path), "no list");
  CHECK(Profile::read(e.path).limit().problem.empty());
  e.w.header().control = 0;
  e.w.write(e.path);
  const Profile p = Profile::read(e.path);
  CHECK(p.limit().is_never_on());
  CHECK(text(p).empty());
  CHECK(p.recorded() == 0);
}

TEST_CASE("the list is called after the profile") {
  CHECK(prof::limit_path("prof.1") == "ctl.prof.1");
  CHECK(prof::limit_path("/a/prof.1.2") == "/a/ctl.prof.1.2");
}

TEST_CASE("a list that is damaged or another's is not used") {
  Example e;
  e.limited(true, {{1, 1, e.main}, {1, 1, e.a}, {1, 1, e.c}});
  const std::string bytes = read_file(prof::limit_path(e.path));
  const prof_format::Header header = e.w.header();
  CHECK(problem_of(bytes, header).empty());
  for (size_t size = 0; size < bytes.size(); size++) CHECK(problem_of(bytes.substr(0, size), header) == "is cut off");
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
  CHECK(with(64 + 32 + 16, char(e.main)) == "is damaged");
}

TEST_CASE("a list that cannot be written leaves the old one and nothing else") {
  Example e;
  e.limited(true, {});
  std::filesystem::create_directory(e.dir / "other");
  std::filesystem::create_directory(e.dir / "other/ctl.prof.1");
  e.w.write(e.dir / "other/prof.1");
  CHECK_THROWS_AS(prof::write_limit(Limit(), e.dir / "other/prof.1", e.w.header()), prof::Error);
  CHECK_THROWS_AS(prof::write_limit(Limit(), e.dir / "nowhere/prof.1", e.w.header()), prof::Error);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::recursive_directory_iterator(e.dir.path())) files++;
  CHECK(files == 5);
}
