#include "prof/model/program/symbols.h"

#include <doctest/doctest.h>

#include "prof/model/program/functions.h"
#include "prof/read/error.h"
#include "tests/unit/prof_fixture.h"

using namespace prof_test;

namespace {

prof::Object open_program(const prof::Profile& profile, const std::string& program) {
  std::vector<std::string> remarks;
  return prof::open_program(profile, program, {}, remarks);
}

std::string error_of(const prof::Profile& profile, const std::string& program) {
  try {
    open_program(profile, program);
  } catch (const prof::Error& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The profile of `program` in a directory, which was loaded at 0x70000000.
prof::Profile profile_of_program(const TemporaryDirectory& dir) {
  ProfileWriter w;
  w.add_module(dir / "program", "", 0x70000000, 0x70000000, 0x70002000);
  w.write(dir / "prof.1");
  return prof::Profile::read(dir / "prof.1");
}

}  // namespace

TEST_CASE("of several names for an address the function, the visible, the one with fewer underscores is taken") {
  TemporaryDirectory dir;
  ElfWriter e;
  e.add_symbol("local", 0x100, 16, STB_LOCAL);
  e.add_symbol("_weak", 0x100, 16, STB_WEAK);
  e.add_symbol("__global", 0x100, 16);
  e.add_symbol("_global", 0x100, 16);
  e.add_symbol("label", 0x100, 0, STB_GLOBAL, STT_NOTYPE);
  e.add_symbol("only_label", 0x200, 0, STB_LOCAL, STT_NOTYPE);
  e.add_symbol("data", 0x300, 16, STB_GLOBAL, STT_OBJECT);
  e.add_symbol("source.c", 0x400, 0, STB_LOCAL, STT_FILE);
  e.write(dir / "program");
  const prof::ElfFile file(dir / "program");
  prof::SymbolTable table;
  table.add(file);
  table.finish();
  CHECK(std::string(table.find(0x100)->name) == "_global");
  CHECK(std::string(table.find(0x200)->name) == "only_label");
  CHECK(table.find(0x300) == nullptr);
  CHECK(table.find(0x400) == nullptr);
}

TEST_CASE("of the names in a library the one is taken that a person would use") {
  TemporaryDirectory dir;
  ElfWriter e;
  // The C library's, in .dynsym, as they are there.
  e.add_exported("__libc_free", 0x100, 16);
  e.add_exported("cfree", 0x100, 16, STB_GLOBAL, 0x8002);
  e.add_exported("free", 0x100, 16);
  e.add_exported("lseek64", 0x200, 16, STB_WEAK);
  e.add_exported("llseek", 0x200, 16, STB_GLOBAL, 0x8002);
  e.add_exported("__lseek", 0x200, 16);
  e.add_exported("lseek", 0x200, 16, STB_WEAK);
  e.add_exported("index", 0x300, 16, STB_WEAK);
  e.add_exported("strchr", 0x300, 16);
  e.add_exported("fopen64", 0x400, 16, STB_WEAK);
  e.add_exported("_IO_fopen", 0x400, 16);
  e.add_exported("fopen", 0x400, 16);
  // In .symtab, where names tell their versions.
  e.add_symbol("__GI___libc_free", 0x100, 16, STB_LOCAL);
  e.add_symbol("memcpy@GLIBC_2.2.5", 0x500, 16);
  e.add_symbol("memmove@@GLIBC_2.2.5", 0x500, 16);
  e.add_symbol("__memcpy_avx_unaligned_erms", 0x600, 16, STB_LOCAL);
  e.add_symbol("__memcpy_ssse3", 0x700, 16, STB_LOCAL);
  e.add_symbol("memcpy@@GLIBC_2.14", 0x700, 16);
  e.write(dir / "library");
  const prof::ElfFile file(dir / "library");
  prof::SymbolTable table;
  table.add(file);
  table.finish();
  CHECK(std::string(table.find(0x100)->name) == "free");
  CHECK(std::string(table.find(0x200)->name) == "lseek");
  CHECK(std::string(table.find(0x300)->name) == "strchr");
  CHECK(std::string(table.find(0x400)->name) == "fopen");
  CHECK(std::string(table.find(0x500)->name) == "memmove@@GLIBC_2.2.5");
  CHECK(std::string(table.find(0x600)->name) == "__memcpy_avx_unaligned_erms");
  CHECK(std::string(table.find(0x700)->name) == "memcpy@@GLIBC_2.14");

  // What the program itself calls.
  ElfWriter program;
  for (const char* name : {"fopen64", "index", "cfree", "memmove"}) program.add_undefined(name);
  program.write(dir / "program");
  prof::SymbolTable used;
  used.add(file);
  used.finish(prof::ElfFile(dir / "program").undefined_names());
  CHECK(std::string(used.find(0x100)->name) == "free");
  CHECK(std::string(used.find(0x300)->name) == "index");
  CHECK(std::string(used.find(0x400)->name) == "fopen64");
  CHECK(std::string(used.find(0x500)->name) == "memmove@@GLIBC_2.2.5");
}

TEST_CASE("an address inside a function is found by size, in the innermost function") {
  TemporaryDirectory dir;
  ElfWriter e;
  e.add_symbol("outer", 0x100, 0x100);
  e.add_symbol("inner", 0x140, 0x10);
  e.add_symbol("label", 0x148, 0, STB_GLOBAL, STT_NOTYPE);
  e.add_symbol("no_size", 0x300, 0);
  e.write(dir / "program");
  const prof::ElfFile file(dir / "program");
  prof::SymbolTable table;
  table.add(file);
  table.finish();
  CHECK(std::string(table.find(0x120)->name) == "outer");
  CHECK(std::string(table.find(0x149)->name) == "inner");
  CHECK(std::string(table.find(0x148)->name) == "label");
  CHECK(std::string(table.find_containing(0x148)->name) == "inner");
  CHECK(std::string(table.find_containing(0x300)->name) == "no_size");
  CHECK(std::string(table.find(0x150)->name) == "outer");
  CHECK(table.find(0x200) == nullptr);
  CHECK(table.find(0x301) == nullptr);
  REQUIRE(table.last_without_size(0x301));
  CHECK(std::string(table.last_without_size(0x301)->name) == "no_size");
  REQUIRE(table.last_without_size(0x14a));
  CHECK(std::string(table.last_without_size(0x14a)->name) == "label");
  CHECK(table.last_without_size(0x145) == nullptr);
  CHECK(table.last_without_size(0x10) == nullptr);
  CHECK(table.find(0x10) == nullptr);
}

TEST_CASE("build-ids and the map of a rewritten program are read; an original has no map") {
  TemporaryDirectory dir;
  ElfWriter e;
  e.build_id = "12345678";
  e.write(dir / "original");
  e.rewritten = true;
  e.original_build_id = "12345678";
  e.build_id = "abc";
  e.add_copy(0x2000, 0x200);
  e.add_copy(0x1000, 0x100);
  e.write(dir / "copy");
  const prof::ElfFile original(dir / "original"), copy(dir / "copy");
  CHECK(original.build_id() == "12345678");
  CHECK_FALSE(original.is_rewritten());
  CHECK(copy.build_id() == "abc");
  CHECK(copy.original_build_id() == "12345678");
  REQUIRE(copy.is_rewritten());
  REQUIRE(copy.map().size() == 2);
  CHECK(copy.map()[0].copy == 0x1000);
  CHECK(prof::build_id_text("\x01\xab") == "01ab");
}

TEST_CASE("program counters in copies are counted for the original's entry, whatever the load address") {
  TemporaryDirectory dir;
  ElfWriter e;
  e.rewritten = true;
  e.add_symbol("one", 0x100, 16);
  e.add_copy(0x1000, 0x100);
  e.map.push_back({0x1040, 0x180, 0x100, 16, 8});  // a fragment of `one`
  e.add_copy(0x1080, 0x1139);
  e.write(dir / "program");
  const prof::Profile profile = profile_of_program(dir);
  prof::FunctionTable table(open_program(profile, ""), false);
  prof::Resolver resolver(table, profile);
  const uint32_t one = resolver.find(0x70001005);
  CHECK(table.functions()[one].name == "one");
  CHECK(table.functions()[one].address == 0x100);
  CHECK(resolver.find(0x70001020) == one);  // the return address after a call at the very end of the copy
  CHECK(resolver.find(0x70001045) == one);
  CHECK(table.functions()[resolver.find(0x70001085)].name == "#1139");
  const uint32_t outside = resolver.find(0x1234567);
  CHECK(table.functions()[outside].name == "#1234567");
  CHECK(table.functions()[outside].object != 0);
}

TEST_CASE("imports have the names that the section .prof.imports gives them") {
  TemporaryDirectory dir;
  ElfWriter e;
  e.rewritten = true;
  e.add_symbol("covers_all", 0x100, 0x1000);
  e.add_import(0x1000, 0x400, "strlen");
  e.add_import(0x1010, 0x410, "_Znwm");
  e.map.push_back({0x1020, 0x410, 0x410, 16, 0});  // of tail jumps
  e.write(dir / "program");
  const prof::Profile profile = profile_of_program(dir);
  prof::FunctionTable table(open_program(profile, ""), false);
  prof::Resolver resolver(table, profile);
  const prof::Function strlen = table.functions()[resolver.find(0x70001006)];
  CHECK(strlen.name == "strlen");
  CHECK(strlen.is_import);
  CHECK(table.objects()[strlen.object].name() == "[libraries]");
  CHECK(strlen.address == 0x400);
  const uint32_t allocates = resolver.find(0x70001016);
  CHECK(table.functions()[allocates].name == "operator new(unsigned long)");
  CHECK(table.functions()[allocates].raw_name == "_Znwm");
  CHECK(resolver.find(0x70001026) == allocates);
  CHECK(!table.functions()[resolver.find(0x70000105)].is_import);

  // Names that overlap, or lie outside the section, end the list.
  e.import_entry(1).name = 3;
  e.write(dir / "overlapping");
  CHECK(prof::ElfFile(dir / "overlapping").imports().size() == 1);
  e.import_entry(0).name_size = 100;
  e.write(dir / "outside");
  CHECK(prof::ElfFile(dir / "outside").imports().empty());
}

TEST_CASE("the program must be the profile's: the rewritten one, or its original") {
  TemporaryDirectory dir;
  ElfWriter copy;
  copy.rewritten = true;
  copy.build_id = "copy";
  copy.original_build_id = "orig";
  copy.write(dir / "copy");
  ElfWriter original;
  original.build_id = "orig";
  original.add_symbol("name", 0x100, 16);
  original.write(dir / "original");
  original.build_id = "else";
  original.write(dir / "other");
  original.build_id = "";
  original.write(dir / "unknown");
  copy.build_id = "new!";
  copy.write(dir / "other-copy");

  ProfileWriter w;
  const Block module = w.add_module(dir / "copy", "copy", 0, 0, 0x10000);
  w.write(dir / "prof.1");
  const prof::Profile profile = prof::Profile::read(dir / "prof.1");
  CHECK(error_of(profile, "") == "");
  CHECK(error_of(profile, dir / "copy") == "");
  CHECK(error_of(profile, dir / "original") == "");
  CHECK(error_of(profile, dir / "unknown") == "");
  const std::string other = error_of(profile, dir / "other");
  CHECK(contains(other, prof::build_id_text("else")));
  CHECK(contains(other, prof::build_id_text("orig")));
  const std::string other_copy = error_of(profile, dir / "other-copy");
  CHECK(contains(other_copy, prof::build_id_text("new!")));
  CHECK(contains(other_copy, prof::build_id_text("copy")));
  CHECK(open_program(profile, dir / "original").symbols().find(0x100) != nullptr);

  std::filesystem::remove(dir / "copy");
  CHECK(contains(error_of(profile, ""), "was moved"));
  CHECK(contains(error_of(profile, dir / "original"), "No such file"));
  w.module(module).path_size = 0xffffff;
  w.write(dir / "prof.2");
  CHECK(contains(error_of(prof::Profile::read(dir / "prof.2"), dir / "original"), "does not say which program"));
}

TEST_CASE("damaged programs give an error or what can be read, whatever byte is missing or wrong") {
  TemporaryDirectory dir;
  ElfWriter e;
  e.rewritten = true;
  e.build_id = "12345678";
  e.original_build_id = "87654321";
  e.add_symbol("one", 0x100, 16);
  e.add_copy(0x1000, 0x100);
  e.add_import(0x1020, 0x400, "strlen");
  e.add_exported("one", 0x100, 16);
  e.soname = "one.so";
  e.write(dir / "program");
  const std::string whole = read_file(dir / "program");
  auto try_to_read = [&](const std::string& bytes) {
    write_file(dir / "damaged", bytes);
    try {
      prof::Object object("damaged", prof::Object::Kind::program);
      object.set_rewritten(prof::ElfFile(dir / "damaged"));
      object.finish();
      object.entry_of(0x1005);
      object.import_name(object.entry_of(0x1025));
      object.symbols().find(0x105);
    } catch (const prof::Error&) {
    }
  };
  for (size_t size = 0; size < whole.size(); ++size) try_to_read(whole.substr(0, size));
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int value : {0, 1, 0x7f, 0xff}) {
      std::string bytes = whole;
      bytes[i] = char(value);
      try_to_read(bytes);
    }
  }
}
