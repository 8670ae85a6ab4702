// Which profiles in a folder are of one run.

#include "prof/read/find.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/prof_fixture.h"

using namespace prof_test;

namespace {

// A folder of profiles, each of a process.
class Folder {
 public:
  // Times are seconds. `end`: 0 if it was killed. `began`: when the process did, which tells it from others of its number.
  void add(const std::string& name, uint32_t pid, uint32_t parent, uint64_t start, uint64_t end, uint64_t began = 0) {
    ProfileWriter w;
    prof_format::Header& h = w.header();
    h.pid = pid;
    h.parent_pid = parent;
    h.realtime_start = start * kSecond;
    h.start_time = began ? began : start;
    h.flags = end ? uint32_t(prof_format::kEnded) : 0;
    h.ns_start = 0;
    h.ns_end = end ? (end - start) * kSecond : 0;
    w.write(dir_ / name);
  }

  prof::Runs runs() const { return prof::Runs(dir_.path()); }
  std::string path(const std::string& name) const { return dir_ / name; }

  // Names with blanks between.
  std::string names(const std::vector<std::string>& paths) const {
    std::string text;
    for (const std::string& path : paths) text += (text.empty() ? "" : " ") + path.substr(dir_.path().size() + 6);
    return text;
  }
  std::string run_of(const std::string& name) const { return names(runs().run_of(path(name))); }
  std::string run_from(const std::string& name) const { return names(runs().run_from(path(name))); }

 private:
  static constexpr uint64_t kSecond = 1'000'000'000;
  TemporaryDirectory dir_;
};

}  // namespace

TEST_CASE("a run begins with the first ancestor that left a profile") {
  Folder f;
  f.add("prof.10", 10, 1, 100, 200);
  f.add("prof.12", 12, 10, 110, 190);
  f.add("prof.11", 11, 10, 120, 130);
  f.add("prof.13", 13, 12, 115, 180);
  f.add("prof.20", 20, 1, 105, 300);
  CHECK(f.run_of("prof.13") == "10 12 13 11");
  CHECK(f.run_of("prof.10") == "10 12 13 11");
  CHECK(f.run_from("prof.12") == "12 13");
  CHECK(f.run_of("prof.20") == "20");
  CHECK(f.run_of("prof.99") == "");
}

TEST_CASE("a process whose number was used again is nobody's parent after its end") {
  Folder f;
  f.add("prof.10", 10, 1, 100, 200);
  f.add("prof.11", 11, 10, 300, 310);  // the second process 10 left no profile
  CHECK(f.run_of("prof.11") == "11");
  f.add("prof.10.1", 10, 1, 290, 0);  // it did, but was killed
  CHECK(f.run_of("prof.11") == "10.1 11");
  CHECK(f.run_of("prof.10") == "10");
}

TEST_CASE("of a process that ran several programs the last one is meant, and its children are of all") {
  Folder f;
  f.add("prof.10", 10, 1, 100, 0, 7);
  f.add("prof.11", 11, 10, 110, 120);
  f.add("prof.10.1", 10, 1, 130, 200, 7);
  f.add("prof.12", 12, 10, 140, 150);
  CHECK(f.run_of("prof.11") == "10.1 10 11 12");
  CHECK(f.run_of("prof.12") == "10.1 10 11 12");
}

TEST_CASE("the newest run of what is meant") {
  Folder f;
  f.add("prof.10", 10, 1, 100, 200);
  f.add("prof.11", 11, 10, 110, 120);
  f.add("prof.30", 30, 1, 150, 160);
  const prof::Runs runs = f.runs();
  CHECK(f.names(runs.newest([](const std::string&) { return true; })) == "30");
  CHECK(f.names(runs.newest([](const std::string& path) { return !path.ends_with("prof.30"); })) == "10 11");
  CHECK(f.names(runs.newest([](const std::string& path) { return path.ends_with("prof.11"); })) == "11");
  CHECK(f.names(runs.newest([](const std::string&) { return false; })) == "");
}

TEST_CASE("a process that is said to be its own parent has none") {
  Folder f;
  f.add("prof.10", 10, 10, 100, 200);
  CHECK(f.run_of("prof.10") == "10");
}
