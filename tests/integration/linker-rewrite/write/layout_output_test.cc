// Programs of all link types, rewritten by hand with a runtime of a few instructions: they run, and tools read them.

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "libprof/format/map.h"
#include "linker-rewrite/decide/movability.h"
#include "linker-rewrite/unwind/eh_frame.h"
#include "linker-rewrite/write/layout.h"
#include "tests/integration/code_fixture.h"

using namespace code_fixture;

namespace {

// Stands for libprof.so: its hook prints "H", and counts in a thread-local word.
constexpr char kRuntime[] = R"(asm(R"!(
  .text
  .globl _profin, _profout, _proftail, _profjump, _profhooks, _profstart, _proftask
  .globl _profentry, _profdoubt, _profunhooked
  .type _profin, @function
_profin:
  .cfi_startproc
  pushfq; push %rax; push %rcx; push %rdx; push %rsi; push %rdi; push %r11
  mov word@gottpoff(%rip), %rax
  incq %fs:(%rax)
  mov $1, %eax; mov $1, %edi; lea text(%rip), %rsi; mov $1, %edx; syscall
  pop %r11; pop %rdi; pop %rsi; pop %rdx; pop %rcx; pop %rax; popfq
  ret
  .cfi_endproc
  .size _profin, .-_profin
  .type _profout, @function
  .type _proftail, @function
  .type _profjump, @function
_profout:
_proftail:
_profjump:
_proftask:
  ret
  .size _profout, .-_profout
  .irp name, _profin, _profout, _proftail, _profjump
  .globl \name\().libprof
  .set \name\().libprof, \name
  .endr
  .type _profstart, @function
_profstart:
  lea _profin(%rip), %r11
  mov %r11, _profhooks(%rip)
  lea _profentry(%rip), %r11
  add (%r11), %r11
  movb $1, zeros+5000(%rip)
  jmp *%r11
  .size _profstart, .-_profstart
text: .ascii "H"
  .data
  .p2align 3
  .type _profentry, @object
  .size _profentry, 8
_profentry: .quad 0
  .type _profdoubt, @object
  .size _profdoubt, 8
_profdoubt: .quad 0
  .type _profunhooked, @object
  .size _profunhooked, 8
_profunhooked: .quad 0
  .type _profhooks, @object
  .size _profhooks, 32
_profhooks: .quad 0, 0, 0, 0
  .bss
zeros: .skip 70000
  .section .tbss, "awT", @nobits
  .p2align 3
word: .quad 0
)!");)";

// Calls `hooked` in two threads; prints thread-local variables of all kinds. Needs no heap, so that the order of
// output is that of the calls.
constexpr char kProgram[] = R"(
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <elf.h>
#include <unistd.h>
int target = 7;
extern "C" {
thread_local int first = 5;
thread_local int* pointer = &target;
thread_local char aligned[100] __attribute__((aligned(64))) = "aligned";
thread_local char zeros[3000];
char bss[100000];
__attribute__((noinline, noclone, patchable_function_entry(5, 0))) int hooked(int x) { return first += x; }
}
static void* run(void* v) {
  int result = hooked(3);
  char line[200];
  int n = snprintf(line, sizeof line, "[%d %d %d %s %d %d]", result, first, *pointer, aligned,
                   int(uintptr_t(aligned) % 64), zeros[2999]);
  zeros[2999] = 1;
  if (write(1, line, size_t(n)) != n) abort();
  return v;
}
int main() {
  pthread_t t;
  run(0);
  pthread_create(&t, 0, run, 0);
  pthread_join(t, 0);
  bss[99999] = 1;
  const Elf64_Phdr* headers = (const Elf64_Phdr*)getauxval(AT_PHDR);
  int loads = 0;
  for (unsigned i = 0; i < getauxval(AT_PHNUM); ++i) loads += headers[i].p_type == PT_LOAD;
  return loads > 1 ? 3 : 4;
}
)";
constexpr char kExpected[] = "[8 8 7 aligned 0 0][8 8 7 aligned 0 0]";
constexpr char kExpectedHooked[] = "H[8 8 7 aligned 0 0]H[8 8 7 aligned 0 0]";

struct Outcome {
  std::string output;
  int status;
};

Outcome run(const std::string& command) {
  FILE* f = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(f);
  Outcome o;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;) o.output.append(buffer, n);
  int status = pclose(f);
  o.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return o;
}

void save(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), long(bytes.size()));
  chmod(path.c_str(), 0755);
}

struct Programs {
  ScratchDirectory directory;
  std::string runtime, original;

  explicit Programs(const std::string& options) {
    runtime =
        compile(directory, kRuntime,
                "g++ -x c++ -shared -nostdlib -Wl,-Bsymbolic -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,--build-id");
    REQUIRE_FALSE(runtime.empty());
    std::filesystem::rename(runtime, directory / "libprof.so");
    runtime = directory / "libprof.so";
    original = compile(directory, kProgram, "g++ -O1 -w -pthread " + options);
    REQUIRE_FALSE(original.empty());
  }
};

// Rewrites by hand: `hooked` has five bytes of no-operations, which become a jump to a copy that calls the hook and
// goes on after them.
Bytes rewrite(const Image& image, const std::string& runtime) {
  auto layout = Layout::begin(image, runtime);
  Contents c;
  auto append_jump = [](Bytes& out, uint8_t opcode, uint64_t from, uint64_t to) {
    out.push_back(opcode);
    append(out, int32_t(to - (from + 5)));
  };
  const auto& symbols = image.symbols();
  auto hooked = std::ranges::find(symbols, std::string("hooked"), &Symbol::name);
  if (hooked != symbols.end()) {
    OldAddr place = hooked->address;
    if (Reader(*image.bytes(place, 4), "code").u32() == 0xfa1e0ff3) place += 4;  // endbr64
    c.text = {0xff, 0x15};
    append(c.text, int32_t(layout->hook_slots() - (layout->text() + 6)));
    append_jump(c.text, 0xe9, layout->text().value + c.text.size(), place.value + 5);
    Patch patch{*image.file_offset(place), {}};
    append_jump(patch.bytes, 0xe9, place.value, layout->text().value);
    c.patches.push_back(patch);
    c.copies.add(RangeCopy{.original = {hooked->address, hooked->address + hooked->size},
                           .function = hooked->address,
                           .start = layout->text(),
                           .size = c.text.size(),
                           .steps = {{0, 0}}});
  }
  c.copies.sort();
  c.tables = {1, 2, 3, 4};
  NewAddr unwind(align_up((layout->read_only_start(c.text.size()) + c.tables.size()).value, 8));
  const std::optional<AddedCode> added = layout->added_code();
  c.unwind = write_unwind(image, read_eh_frame(image), CopyMap(), added ? &*added : nullptr, unwind);
  return elf_fixture::file_of(layout->finish(std::move(c)));
}

Bytes bytes_of_section(const Image& image, const std::string& name) {
  const Section* s = image.section(name);
  REQUIRE(s);
  ByteView v = image.file().subspan(s->header.sh_offset, s->header.sh_size);
  return Bytes(v.begin(), v.end());
}

void check_program(const std::string& options) {
  CAPTURE(options);
  Programs p(options);
  Outcome before = run(p.original);
  REQUIRE(before.output == kExpected);
  REQUIRE(before.status == 3);

  const Image image = Image::open(p.original);
  const Bytes bytes = rewrite(image, p.runtime);
  CHECK(bytes == rewrite(image, p.runtime));  // same input, same bytes
  const std::string output = p.directory / "output";
  save(output, bytes);
  Outcome after = run(output);
  CHECK(after.output == kExpectedHooked);
  CHECK(after.status == 3);

  const Image rewritten = Image::from_bytes(bytes);
  // Where kernels before 5.18 look for the program headers is where they are.
  const Elf64_Phdr* first = rewritten.segment(PT_LOAD);
  auto headers = rewritten.bytes(OldAddr(first->p_vaddr - first->p_offset + rewritten.header().e_phoff),
                                 rewritten.segments().size() * sizeof(Elf64_Phdr));
  REQUIRE(headers);
  CHECK(std::memcmp(headers->data(), rewritten.segments().data(), headers->size()) == 0);

  // The original's text is still there, but for the patch.
  auto old_entry = image.bytes(image.entry(), 16), new_entry = rewritten.bytes(image.entry(), 16);
  REQUIRE(new_entry);
  CHECK(std::ranges::equal(*old_entry, *new_entry));

  CHECK(rewritten.build_id().size() == 20);
  CHECK(rewritten.build_id() != image.build_id());
  Bytes note = bytes_of_section(rewritten, prof_format::kNoteSection);
  Bytes original_id = image.build_id();
  REQUIRE(note.size() >= original_id.size());
  CHECK(std::equal(original_id.begin(), original_id.end(), note.end() - long(original_id.size())));

  int named_hooked = 0;
  uint64_t copy = rewritten.section(".prof.text")->header.sh_addr;
  for (const Symbol& s : rewritten.symbols())
    if (s.name == "hooked") named_hooked += s.address.value == copy ? 10 : 1;
  CHECK(named_hooked == 11);
  Bytes map = bytes_of_section(rewritten, prof_format::kMapSection);
  REQUIRE(map.size() == sizeof(prof_format::MapHeader) + sizeof(prof_format::MapEntry));
  prof_format::MapEntry entry;
  std::memcpy(&entry, map.data() + sizeof(prof_format::MapHeader), sizeof entry);
  CHECK(entry.copy == copy);

  for (const char* tool : {"strip", "objcopy"}) {
    CAPTURE(tool);
    const std::string again = p.directory / tool;
    std::filesystem::copy_file(output, again);
    CHECK(run(std::string(tool) + " " + again).output == "");
    Outcome o = run(again);
    CHECK(o.output == kExpectedHooked);
    CHECK(o.status == 3);
  }
  CHECK_THROWS_WITH_AS(refuse_unsupported(rewritten), doctest::Contains("already rewritten"), Error);
}

}  // namespace

TEST_CASE("a PIE calls its hooks through libprof.so and is otherwise the same") { check_program("-pie -fPIE"); }
TEST_CASE("a non-PIE calls its hooks through libprof.so and is otherwise the same") { check_program("-no-pie"); }
TEST_CASE("a static program calls its hooks and keeps its thread-local variables") { check_program("-static"); }
TEST_CASE("a static PIE calls its hooks and keeps its thread-local variables") { check_program("-static-pie"); }
TEST_CASE("thread-local pointers in packed relocations are relocated where the image has moved") {
  check_program("-static-pie -Wl,-z,pack-relative-relocs");
}
TEST_CASE("tables that grow: System V hash table, no version of symbols, relocations kept by the linker") {
  check_program("-pie -Wl,--hash-style=sysv -Wl,-z,now -Wl,--emit-relocs");
}

TEST_CASE("a program without section headers can be rewritten") {
  Programs p("-pie");
  Image image = Image::open(p.original);
  Bytes file(image.file().begin(), image.file().end());
  Elf64_Ehdr h = image.header();
  h.e_shoff = h.e_shnum = h.e_shstrndx = 0;
  put(file, 0, h);
  const std::string output = p.directory / "output";
  save(output, rewrite(Image::from_bytes(file), p.runtime));
  Outcome o = run(output);
  CHECK(o.output == kExpected);
  CHECK(o.status == 3);
}

// With SANITIZE=undefined this failed.
TEST_CASE("a program whose symbol table is empty can be rewritten") {
  Programs p("-pie");
  Image image = Image::open(p.original);
  Bytes file(image.file().begin(), image.file().end());
  for (const Section& s : image.sections())
    if (s.header.sh_type == SHT_SYMTAB)
      put(file, image.header().e_shoff + s.index * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), uint64_t(0));
  const std::string output = p.directory / "output";
  save(output, rewrite(Image::from_bytes(file), p.runtime));
  CHECK(run(output).status == 3);
}

TEST_CASE("bytes that somebody appended to the program stay where they are, and are at the end") {
  Programs p("-pie");
  Image image = Image::open(p.original);
  Bytes file(image.file().begin(), image.file().end());
  const std::string archive = "an appended archive";
  file.insert(file.end(), archive.begin(), archive.end());
  const Bytes output = rewrite(Image::from_bytes(file), p.runtime);
  REQUIRE(output.size() > file.size());
  CHECK(std::equal(archive.begin(), archive.end(), output.begin() + long(file.size() - archive.size())));
  CHECK(std::equal(archive.rbegin(), archive.rend(), output.rbegin()));
}

TEST_CASE("what cannot be done is said in one line") {
  Programs p("-pie");
  const Image program = Image::open(p.original);
  CHECK_THROWS_WITH_AS(Layout::begin(program, p.runtime + ".missing"), doctest::Contains("cannot be opened"), Error);
  CHECK_THROWS_WITH_AS(Layout::begin(program, p.original), doctest::Contains("_profin"), Error);
}
