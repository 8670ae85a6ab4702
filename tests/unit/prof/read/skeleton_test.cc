#include "prof/read/skeleton.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <filesystem>

#include "prof/commands/launching/keep_skeletons.h"
#include "prof/model/program/functions.h"
#include "prof/read/error.h"
#include "tests/unit/prof_fixture.h"

using namespace prof_test;

namespace {

constexpr uint64_t kBias = 0x70000000;

ElfWriter rewritten(const std::string& name) {
  ElfWriter e;
  e.rewritten = true;
  e.build_id = "copy of " + name;
  e.original_build_id = name;
  e.file_type = ET_DYN;
  e.add_copy(0x5000, 0x1000);
  e.add_import(0x6000, 0x3000, "strlen");
  e.add_symbol(name + "_function", 0x1000, 16);
  e.add_symbol("data", 0x4000, 16, STB_GLOBAL, STT_OBJECT);
  e.add_exported("old_name", 0x1000, 16, STB_GLOBAL, 0x8002);
  e.add_undefined("free");
  return e;
}

ElfWriter library() {
  ElfWriter e = rewritten("library");
  e.soname = "liblibrary.so.1";
  return e;
}

// The profile of a program and a library, both rewritten, with a call of each; and the files.
void write_run(const TemporaryDirectory& dir, bool is_live = false) {
  rewritten("program").write(dir / "program");
  library().write(dir / "library");
  ProfileWriter w;
  w.add_module(dir / "program", "copy of program", kBias, kBias, kBias + 0x10000);
  w.add_module(dir / "library", "copy of library", 2 * kBias, 2 * kBias, 2 * kBias + 0x10000);
  const Block root = w.root(w.add_thread());
  w.add_node(root, kBias + 0x5005, 1, 10);
  w.add_node(root, 2 * kBias + 0x5005, 1, 10);
  if (is_live) be_this_process(w.header());
  w.write(dir / "prof.1");
}

void remove_files(const TemporaryDirectory& dir) {
  std::filesystem::remove(dir / "program");
  std::filesystem::remove(dir / "library");
}

// The names of the functions in a profile, or the error that comes instead.
std::string names(const TemporaryDirectory& dir) {
  const prof::Profile profile = prof::Profile::read(dir / "prof.1");
  std::vector<std::string> remarks;
  std::string text;
  try {
    prof::FunctionTable table(prof::open_program(profile, "", {}, remarks), false);
    prof::Resolver resolver(table, profile);
    for (const prof::RecordedNode& node : profile.threads()[0].nodes)
      if (node.pc != 0) text += table.name_with_module(table.functions()[resolver.find(node.pc)]) + "\n";
  } catch (const prof::Error& e) {
    text = e.what();
  }
  return text;
}

constexpr char kNames[] = "program_function\nlibrary_function [liblibrary.so.1]\n";

prof_format::Header header_of(const std::string& bytes) {
  prof_format::Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

}  // namespace

TEST_CASE("a skeleton says of a file what the file says") {
  TemporaryDirectory dir;
  library().write(dir / "library");
  const prof::ElfFile file(dir / "library");
  const prof::ElfFile skeleton("name", prof::skeleton_of(file));
  CHECK(skeleton.path() == "name");
  CHECK(skeleton.is_rewritten());
  CHECK(skeleton.build_id() == "copy of library");
  CHECK(skeleton.original_build_id() == "library");
  CHECK(skeleton.soname() == "liblibrary.so.1");
  CHECK(skeleton.is_library() == file.is_library());
  CHECK(skeleton.has_symtab());
  CHECK(skeleton.imports() == file.imports());
  CHECK(skeleton.undefined_names() == file.undefined_names());
  REQUIRE(skeleton.map().size() == 2);
  CHECK(std::memcmp(skeleton.map().data(), file.map().data(), 2 * sizeof file.map()[0]) == 0);
  REQUIRE(skeleton.symbols().size() == file.symbols().size());
  for (size_t i = 0; i < file.symbols().size(); ++i) {
    const prof::Symbol &a = skeleton.symbols()[i], &b = file.symbols()[i];
    CHECK(std::string(a.name) == b.name);
    CHECK((a.address == b.address && a.size == b.size && a.type == b.type && a.is_old_version == b.is_old_version));
  }
  // Of one of itself, too.
  CHECK(prof::skeleton_of(prof::ElfFile("again", prof::skeleton_of(skeleton))) == prof::skeleton_of(skeleton));
}

TEST_CASE("a skeleton of this program knows its segments") {
  const prof::ElfFile file("/proc/self/exe");
  const std::string bytes = prof::skeleton_of(file);
  const prof::ElfFile skeleton("name", bytes);
  CHECK(bytes.size() < std::filesystem::file_size("/proc/self/exe") / 2);
  CHECK(skeleton.interpreter() == file.interpreter());
  CHECK(skeleton.unwind_starts() == file.unwind_starts());
  CHECK(skeleton.search_path() == file.search_path());
  CHECK(skeleton.debug_link().build_id == file.debug_link().build_id);
  REQUIRE(!file.unwind_starts().empty());
  const uint64_t address = file.unwind_starts()[0];
  CHECK(skeleton.offset_of(address) == file.offset_of(address));
  CHECK(!skeleton.has_section(".debug_info"));
  CHECK(skeleton.lacks_bytes_of(".debug_info") == file.has_section(".debug_info"));
}

TEST_CASE("a profile is read without the files, when it has their skeletons") {
  TemporaryDirectory dir;
  write_run(dir);
  CHECK(names(dir) == kNames);
  CHECK(prof::keep_skeletons({dir / "prof.1"}).empty());
  CHECK(names(dir) == kNames);
  const std::string once = read_file(dir / "prof.1");
  CHECK(once.size() % PROF_BLOCK_SIZE == 0);
  remove_files(dir);
  CHECK(names(dir) == kNames);
  // Other files at their places.
  ElfWriter other;
  other.build_id = "other";
  other.add_symbol("wrong", 0x1000, 16);
  other.write(dir / "program");
  other.write(dir / "library");
  CHECK(names(dir) == kNames);
  // Nothing is appended twice.
  write_run(dir);
  write_file(dir / "prof.1", once);
  CHECK(prof::keep_skeletons({dir / "prof.1"}).empty());
  CHECK(read_file(dir / "prof.1") == once);
}

TEST_CASE("nothing is appended to the profile of a process that runs, or of files that are gone") {
  TemporaryDirectory dir;
  write_run(dir, true);
  const std::string before = read_file(dir / "prof.1");
  CHECK(prof::keep_skeletons({dir / "prof.1", dir / "none"}).size() == 1);
  CHECK(read_file(dir / "prof.1") == before);
  write_run(dir);
  remove_files(dir);
  const std::string ended = read_file(dir / "prof.1");
  CHECK(prof::keep_skeletons({dir / "prof.1"}).empty());
  CHECK(read_file(dir / "prof.1") == ended);
  CHECK(names(dir) == dir / "program" +
                          ": No such file or directory; if the profiled program was moved, name it: prof "
                          "PROGRAM PROFILE");
}

TEST_CASE("a profile that may not become longer stays as it is, without skeletons") {
  TemporaryDirectory dir;
  write_run(dir);
  const std::string before = read_file(dir / "prof.1");
  rlimit old;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  const rlimit least = {before.size() + 200, old.rlim_max};  // there is room for a part
  REQUIRE(setrlimit(RLIMIT_FSIZE, &least) == 0);
  const std::vector<std::string> remarks = prof::keep_skeletons({dir / "prof.1"});
  setrlimit(RLIMIT_FSIZE, &old);
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0] == dir / "prof.1" +
                          ": can be read only as long as the rewritten program is in the cache: File too "
                          "large");
  CHECK(read_file(dir / "prof.1") == before);
}

TEST_CASE("a profile with damaged skeletons is read as one without") {
  TemporaryDirectory dir;
  write_run(dir);
  prof::keep_skeletons({dir / "prof.1"});
  const std::string whole = read_file(dir / "prof.1");
  const prof_format::Header header = header_of(whole);
  const size_t first = size_t(header.first_skeleton) * PROF_BLOCK_SIZE;
  const size_t end = size_t(header.blocks_used) * PROF_BLOCK_SIZE;
  REQUIRE(first >= end);
  auto damaged = [&](size_t at, uint64_t value, size_t bytes) {
    std::string copy = whole;
    std::memcpy(copy.data() + at, &value, bytes);
    write_file(dir / "prof.1", copy);
    return names(dir);
  };
  const std::string gone = dir / "program" + ": No such file or directory";

  // As long as the files are there, nobody looks.
  CHECK(damaged(first + 70, 0x55, 1) == kNames);
  remove_files(dir);
  CHECK(damaged(first + 70, 0x55, 1) == gone + ", and what " + (dir / "prof.1") + " has of it is damaged" +
                                            "; if the profiled program was moved, name it: prof PROGRAM PROFILE");
  constexpr size_t kNext = offsetof(prof_format::Skeleton, next), kModule = offsetof(prof_format::Skeleton, module);
  constexpr size_t kPacked = offsetof(prof_format::Skeleton, packed_size),
                   kSize = offsetof(prof_format::Skeleton, size);
  CHECK(damaged(first + kNext, header.first_skeleton, 4).starts_with("program_function\nlibrary+0x"));
  CHECK(damaged(first + kNext, UINT32_MAX, 4).starts_with("program_function\nlibrary+0x"));
  CHECK(damaged(first + kModule, 1, 4).starts_with(gone));
  for (uint64_t size : {uint64_t(0), uint64_t(1), uint64_t(1) << 29, uint64_t(1) << 40, UINT64_MAX}) {
    CHECK(damaged(first + kPacked, size, 8).starts_with(gone));
    CHECK(damaged(first + kSize, size, 8).starts_with(gone));
  }
  for (uint64_t block : {uint64_t(1), uint64_t(header.blocks_used) - 1, uint64_t(UINT32_MAX)})
    CHECK(damaged(offsetof(prof_format::Header, first_skeleton), block, 4).starts_with(gone));
  for (size_t size = whole.size() - 64; size >= end; size -= 64) {
    write_file(dir / "prof.1", whole.substr(0, size));
    CHECK(names(dir) != kNames);
  }
}
