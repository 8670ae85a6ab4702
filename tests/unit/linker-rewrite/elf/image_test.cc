// Reading ELF files that no linker makes.

#include "linker-rewrite/elf/image.h"

#include <doctest/doctest.h>

#include "linker-rewrite/decide/movability.h"
#include "tests/unit/elf_fixture.h"

using namespace profld;

TEST_CASE("a section header of type SHT_NULL is no section, whatever else it says") {
  elf_fixture::SmallElf elf;
  elf.loads.push_back({0x1000, PF_R | PF_X, Bytes(64, 0xc3)});
  elf.eh_frame = {0x1000, 4};
  Bytes file = elf.build();
  REQUIRE(Image::from_bytes(file).section(".eh_frame"));
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  for (size_t i = 1; i < header.e_shnum; ++i) {
    const size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr h;
    std::memcpy(&h, file.data() + at, sizeof h);
    if (i == header.e_shstrndx) continue;
    h.sh_type = SHT_NULL;
    h.sh_offset = h.sh_size = uint64_t(1) << 62;
    put(file, at, h);
  }
  const Image image = Image::from_bytes(file);
  CHECK(!image.section(".eh_frame"));
  CHECK(image.sections()[1].header.sh_size == 0);
}

TEST_CASE("the first section header is no section, whatever it says") {
  elf_fixture::SmallElf elf;
  elf.loads.push_back({0x1000, PF_R | PF_X, Bytes(64, 0xc3)});
  elf.eh_frame = {0x1000, 4};  // so that there are section headers
  Bytes file = elf.build();
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  const Elf64_Shdr far{0, SHT_SYMTAB, 0, 0, uint64_t(1) << 62, 24, header.e_shstrndx, 0, 8, sizeof(Elf64_Sym)};
  put(file, header.e_shoff, far);
  CHECK(Image::from_bytes(file).symbols().empty());
  // Anywhere else it is damage: no section is believed.
  put(file, header.e_shoff + sizeof far, far);
  CHECK(Image::from_bytes(file).sections().empty());
}

// Fails with SANITIZE=undefined if the bytes that are not there are searched.
TEST_CASE("a segment without bytes in the file is no reason to refuse a program") {
  elf_fixture::SmallElf elf;
  elf.loads.push_back({0x1000, PF_R | PF_X, Bytes(64, 0xc3)});
  elf.loads.push_back({0x2000, PF_R | PF_W, {}});
  elf.type = ET_EXEC;
  CHECK_NOTHROW(refuse_unsupported(elf.image()));
}
