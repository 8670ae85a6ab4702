#include <doctest/doctest.h>

#include <string>

#include "linker-rewrite/elf/image.h"
#include "linker-rewrite/write/segment.h"

using namespace profld;

namespace {

constexpr uint64_t kMiB = uint64_t(1) << 20;

Elf64_Phdr load(uint32_t flags, uint64_t offset, uint64_t address, uint64_t file_size, uint64_t memory_size) {
  return {PT_LOAD, flags, offset, address, address, file_size, memory_size, kPage};
}

// A program of these segments, all zeros but for its headers.
Image program(const std::vector<Elf64_Phdr>& segments) {
  uint64_t size = sizeof(Elf64_Ehdr) + segments.size() * sizeof(Elf64_Phdr);
  for (const Elf64_Phdr& s : segments) size = std::max(size, s.p_offset + s.p_filesz);
  Bytes file(size);
  Elf64_Ehdr h{};
  std::memcpy(h.e_ident, ELFMAG, SELFMAG);
  h.e_ident[EI_CLASS] = ELFCLASS64;
  h.e_ident[EI_DATA] = ELFDATA2LSB;
  h.e_ident[EI_VERSION] = EV_CURRENT;
  h.e_type = ET_EXEC;
  h.e_machine = EM_X86_64;
  h.e_version = EV_CURRENT;
  h.e_ehsize = sizeof h;
  h.e_phoff = sizeof h;
  h.e_phentsize = sizeof(Elf64_Phdr);
  h.e_phnum = uint16_t(segments.size());
  put(file, 0, h);
  for (size_t i = 0; i < segments.size(); ++i) put(file, sizeof h + i * sizeof(Elf64_Phdr), segments[i]);
  return Image::from_bytes(std::move(file));
}

}  // namespace

TEST_CASE("new segments follow .bss, at the offset at which kernels before 5.18 look for the program headers") {
  Image image =
      program({load(PF_R | PF_X, 0, 0x400000, 0x1234, 0x1234), load(PF_R | PF_W, 0x1240, 0x402240, 0x100, 0x50000)});
  Placement p = place_new_segments(image, image.file().size());
  CHECK(p.start.value == 0x453000);
  CHECK(p.offset.value == 0x53000);
  CHECK(p.file_offset(p.start + 0x123).value == 0x53123);
}

TEST_CASE("what is left in the file after the last segment stays there") {
  Image image = program({load(PF_R | PF_X, 0, 0x400000, 0x1000, 0x1000)});
  Placement p = place_new_segments(image, 0x12345);
  CHECK(p.start.value == 0x413000);
  CHECK(p.offset.value == 0x13000);
}

TEST_CASE("a very large .bss leaves no hole in the file") {
  Image image =
      program({load(PF_R | PF_X, 0, 0x400000, 0x1000, 0x1000), load(PF_R | PF_W, 0, 0x402000, 0x1000, 600 * kMiB)});
  Placement p = place_new_segments(image, 0x1000);
  CHECK(p.start.value == 0x402000 + 600 * kMiB);
  CHECK(p.offset.value == 0x1000);
}

TEST_CASE("a segment that cannot be mapped is refused") {
  Image image = program({load(PF_R | PF_X, 0x10, 0x400000, 0x1000, 0x1000)});
  CHECK_THROWS_WITH_AS(place_new_segments(image, 0x2000),
                       doctest::Contains("does not fit its place in the file; use an intact file"), Error);
}

TEST_CASE("a program out of reach of 32-bit displacements is refused") {
  Image image =
      program({load(PF_R | PF_X, 0, 0x400000, 0x1000, 0x1000), load(PF_R | PF_W, 0, 0x500000000, 0x1000, 0x1000)});
  CHECK_THROWS_WITH_AS(place_new_segments(image, 0x1000), doctest::Contains("2 GiB"), Error);
}

TEST_CASE("a segment's parts keep their alignment and their place") {
  Segment s(PF_R, NewAddr(0x10058));
  NewAddr a = s.reserve(3, 1), b = s.reserve(16, 64), c = s.append(Bytes{1, 2}, 2);
  CHECK(a.value == 0x10058);
  CHECK(b.value == 0x10080);
  CHECK(c.value == 0x10090);
  CHECK(s.end().value == 0x10092);
  CHECK(s.next_page().value == 0x11000);
  s.write(b, Bytes{7});
  CHECK(s.bytes()[0x28] == 7);
  CHECK(s.bytes()[0x38] == 1);
  CHECK_THROWS_AS(s.write(c, Bytes(3)), Error);
  CHECK_THROWS_AS(s.write(NewAddr(0x10057), Bytes(1)), Error);
}
