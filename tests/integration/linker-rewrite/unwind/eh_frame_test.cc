// The unwind tables of programs that are installed, read here and by libdw.

#include "linker-rewrite/unwind/eh_frame.h"

#include <doctest/doctest.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/unit/unwind_fixture.h"

using namespace unwind_fixture;

TEST_CASE("eh_frame: real programs: every FDE, with sections and without, as libdw sees them") {
  for (const char* path : {"/usr/bin/lua5.4", "/usr/bin/sqlite3", "/usr/bin/python3.11"}) {
    CAPTURE(path);
    if (!std::filesystem::exists(path)) continue;
    const Image image = Image::open(path);
    const EhFrame frames = read_eh_frame(image);

    elf_version(EV_CURRENT);
    Elf* elf = elf_memory(const_cast<char*>(reinterpret_cast<const char*>(image.file().data())), image.file().size());
    REQUIRE(elf);
    Elf_Data* data = elf_getdata(elf_getscn(elf, image.section(".eh_frame")->index), nullptr);
    size_t count = 0;
    Dwarf_CFI_Entry entry;
    for (Dwarf_Off at = 0, next; dwarf_next_cfi(image.header().e_ident, data, true, at, &next, &entry) == 0; at = next)
      if (next != Dwarf_Off(-1) && entry.CIE_id != DW_CIE_ID_64) ++count;
    CHECK(frames.fdes.size() == count);

    Dwarf_CFI* cfi = dwarf_getcfi_elf(elf);
    REQUIRE(cfi);
    size_t different = 0;
    for (const Fde& f : frames.fdes) {
      Dwarf_Frame* frame = nullptr;
      if (dwarf_cfi_addrframe(cfi, f.range.start.value, &frame) != 0) continue;
      Dwarf_Op* ops = nullptr;
      size_t ops_count = 0;
      REQUIRE(dwarf_frame_cfa(frame, &ops, &ops_count) == 0);
      const bool entry_frame =
          ops_count == 1 && ((ops[0].atom == DW_OP_breg7 && ops[0].number == 8) ||
                             (ops[0].atom == DW_OP_bregx && ops[0].number == 7 && ops[0].number2 == 8));
      different += entry_frame != f.cfa_is_rsp_plus_8;
      free(frame);
    }
    CHECK(different == 0);
    dwarf_cfi_end(cfi);
    elf_end(elf);

    Bytes stripped(image.file().begin(), image.file().end());
    Elf64_Ehdr header = image.header();
    header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
    put(stripped, 0, header);
    CHECK(ranges(read_eh_frame(Image::from_bytes(stripped))) == ranges(frames));
    CHECK(std::ranges::count_if(frames.fdes, [](const Fde& f) { return f.no_return_address; }) == 1);  // _start
  }
}
