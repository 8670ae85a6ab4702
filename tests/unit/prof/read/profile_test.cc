#include "prof/read/profile.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "prof/read/clock.h"
#include "prof/read/error.h"
#include "prof/read/find.h"
#include "prof/read/header.h"
#include "tests/unit/prof_fixture.h"

using namespace prof_test;
using prof::Profile;

namespace {

std::string error_of(const std::string& path) {
  try {
    Profile::read(path);
  } catch (const prof::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a profile lists its modules in order and its threads from the oldest on") {
  TemporaryDirectory dir;
  ProfileWriter w;
  w.add_module("/bin/first", "\x01\x02", 0x1000, 0x1000, 0x2000);
  w.add_module("/lib/second", "", 0, 0x3000, 0x4000);
  w.add_thread(11);
  w.add_thread(12);
  w.write(dir / "prof.1");
  const Profile p = Profile::read(dir / "prof.1");
  CHECK(p.damage().empty());
  REQUIRE(p.modules().size() == 2);
  CHECK(p.modules()[0].path == "/bin/first");
  CHECK(p.modules()[0].build_id == "\x01\x02");
  CHECK(p.modules()[1].path == "/lib/second");
  REQUIRE(p.threads().size() == 2);
  CHECK(p.threads()[0].tid == 11);
  CHECK(p.threads()[1].tid == 12);
  CHECK_FALSE(p.is_live());
}

TEST_CASE("files that are no profiles are refused with a reason") {
  TemporaryDirectory dir;
  CHECK(error_of(dir / "nothing") == dir / "nothing" + ": No such file or directory");
  CHECK(error_of(dir.path()).find("not a regular file") != std::string::npos);
  write_file(dir / "empty", "");
  CHECK(error_of(dir / "empty").find("is not a profile") != std::string::npos);
  write_file(dir / "text", std::string(10000, 'x'));
  CHECK(error_of(dir / "text").find("is not a profile") != std::string::npos);
  mkfifo((dir / "prof.2").c_str(), 0600);
  CHECK(error_of(dir / "prof.2").find("not a regular file") != std::string::npos);

  ProfileWriter w;
  w.header().version = 9;
  w.write(dir / "version");
  CHECK(error_of(dir / "version").find("version 9") != std::string::npos);
  w.header().version = prof_format::kVersion;
  w.header().type = 77;
  w.write(dir / "type");
  CHECK(error_of(dir / "type").find("type 77") != std::string::npos);
  w.header().type = prof_format::kElapsed;
  w.header().block_size = 128;
  w.write(dir / "blocks");
  CHECK(error_of(dir / "blocks").find("damaged") != std::string::npos);
}

TEST_CASE("a profile that was cut off says so and keeps the rest") {
  TemporaryDirectory dir;
  ProfileWriter w;
  w.add_module("/bin/program", "id", 0, 0, 0x1000);
  const Block thread = w.add_thread();
  const Block node = w.add_node(w.root(thread), 0x10, 1, 1);
  w.bytes().resize(size_t(node) * PROF_BLOCK_SIZE);
  w.write(dir / "prof.1");
  const Profile p = Profile::read(dir / "prof.1");
  REQUIRE(p.damage().size() == 1);
  CHECK(p.damage()[0].find("cut off") != std::string::npos);
  REQUIRE(p.threads().size() == 1);
  REQUIRE(p.threads()[0].nodes.size() == 1);
  CHECK(p.threads()[0].nodes[0].children == prof::RecordedNode::Children::cut_off);
}

TEST_CASE("lists that lead in circles or outside of the file end") {
  TemporaryDirectory dir;
  ProfileWriter w;
  const Block module = w.add_module("/bin/program", "id", 0, 0, 0x1000);
  w.module(module).next = module;
  const Block first = w.add_thread(1);
  const Block second = w.add_thread(2);
  w.thread(first).next = second;
  w.write(dir / "prof.1");
  const Profile p = Profile::read(dir / "prof.1");
  CHECK(p.modules().size() == 1);
  CHECK(p.threads().size() == 2);
  CHECK(p.damage().size() == 2);

  w.module(module).next = 0xfffffff0;
  w.thread(first).next = 1;  // inside the header
  w.module(module).path_size = 0xffffffff;
  w.write(dir / "prof.2");
  const Profile q = Profile::read(dir / "prof.2");
  CHECK(q.modules().empty());
  CHECK(q.threads().size() == 2);
  CHECK(q.damage().size() == 2);
}

TEST_CASE("the last block of the file is too small for a thread") {
  TemporaryDirectory dir;
  ProfileWriter w;
  const Block thread = w.add_thread();
  w.header().first_thread = thread + 2;  // the root's block, the last one; a thread takes two
  w.write(dir / "prof.1");
  const Profile p = Profile::read(dir / "prof.1");
  CHECK(p.threads().empty());
  CHECK(p.damage().size() == 1);
}

TEST_CASE("the newest profile is the one that was started last, and a real one") {
  TemporaryDirectory dir;
  CHECK(prof::newest_profile(dir.path()).path == "");
  ProfileWriter w;
  w.header().realtime_start = 200;
  w.header().pid = 7;
  w.write(dir / "prof.7");
  w.header().realtime_start = 100;
  w.header().pid = 8;
  w.write(dir / "prof.8");
  write_file(dir / "prof.9", "no profile");
  w.header().realtime_start = 300;
  w.write(dir / "other.10");
  mkfifo((dir / "prof.11").c_str(), 0600);
  mkdir((dir / "prof.12").c_str(), 0700);
  CHECK(prof::newest_profile(dir.path()).path == dir / "prof.7");
  CHECK(prof::newest_profile(dir.path(), 8).path == dir / "prof.8");
  CHECK(prof::newest_profile(dir.path(), 9).path == "");
}

TEST_CASE("programs and profiles are told apart by their first bytes") {
  TemporaryDirectory dir;
  ProfileWriter().write(dir / "a");
  ElfWriter().write(dir / "b");
  write_file(dir / "c", "#!/bin/sh\n");
  CHECK(prof::kind_of_file(dir / "a") == prof::FileKind::profile);
  CHECK(prof::kind_of_file(dir / "b") == prof::FileKind::elf);
  CHECK(prof::kind_of_file(dir / "c") == prof::FileKind::other);
  CHECK_THROWS_AS(prof::kind_of_file(dir / "d"), prof::Error);
  CHECK_THROWS_AS(prof::kind_of_file(dir.path()), prof::Error);
}

TEST_CASE("the rate of the time stamps comes from the pair that lies furthest from the start") {
  ProfileWriter w;
  prof_format::Header& h = w.header();
  CHECK(prof::time_stamp_rate(h) == doctest::Approx(1e9));
  h.tsc_last = kStart + 6'000'000'000, h.ns_last = 1'000 + 2'000'000'000;
  h.tsc_end = kStart + 9'000'000'000, h.ns_end = 1'000 + 3'000'000'000 + 500'000'000;
  CHECK(prof::time_stamp_rate(h) == doctest::Approx(9 / 3.5 * 1e9));
  h.flags = 0;  // it did not end: the stamps of its end mean nothing
  CHECK(prof::time_stamp_rate(h) == doctest::Approx(3e9));
}

TEST_CASE("stamps that make no sense give no rate, and never nan") {
  ProfileWriter w;
  prof_format::Header& h = w.header();
  h.tsc_last = h.tsc_end = h.tsc_start;
  CHECK(prof::time_stamp_rate(h) == 0);
  h.tsc_last = h.tsc_end = kEnd;
  h.ns_last = h.ns_end = h.ns_start;
  CHECK(prof::time_stamp_rate(h) == 0);
  h.ns_last = h.ns_end = h.ns_start - 1;
  CHECK(prof::time_stamp_rate(h) == 0);
  h.ns_last = h.ns_end = h.ns_start + 1;
  CHECK(prof::time_stamp_rate(h) == 0);
}

TEST_CASE("a short run of this boot is timed up to now") {
  ProfileWriter w;
  prof_format::Header& h = w.header();
  std::string boot = read_file("/proc/sys/kernel/random/boot_id");
  REQUIRE(boot.size() > 30);
  std::memcpy(h.boot_id, boot.data(), std::min(boot.size(), sizeof h.boot_id));
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  h.tsc_start = prof::time_stamp();
  h.ns_start = uint64_t(t.tv_sec) * 1'000'000'000 + uint64_t(t.tv_nsec);
  h.tsc_last = h.tsc_end = h.tsc_start + 5;  // would be nonsense
  h.ns_last = h.ns_end = h.ns_start + 100;
  usleep(20'000);
  const double hz = prof::time_stamp_rate(h);
  CHECK(hz > 1e8);
  CHECK(hz < 1e10);
}

TEST_CASE("a killed program lived as long as its threads, with what they were off their processors") {
  LetteredRun run;
  run.writer.header().type = prof_format::kTime;
  run.writer.header().flags = 0;
  run.writer.header().tsc_last = kStart + 1'000;
  run.writer.header().tsc_end = 0;
  run.writer.thread(run.thread).last_tsc = kStart + 2'000'000'000;
  run.writer.thread(run.thread).away = 3'000'000'000;
  run.writer.write(run.dir / "prof.1");
  CHECK(prof::Profile::read(run.dir / "prof.1").lifetime() == 5'000'000'000);
}
