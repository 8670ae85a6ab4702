// Unwind tables put together here, written for copies of parts of functions.

#include "linker-rewrite/unwind/unwind.h"

#include <doctest/doctest.h>
#include <elfutils/libdw.h>

#include <tuple>

#include "linker-rewrite/unwind/cfa.h"
#include "linker-rewrite/unwind/lsda.h"
#include "tests/unit/elf_fixture.h"

using namespace elf_fixture;

TEST_CASE("unwind: a copy of a part, and types that the dynamic linker fills in") {
  // .eh_frame at 0x4000; a table of handlers at 0x5000 with two absolute types, the second filled in by a relocation.
  Bytes frames_bytes = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'L', 'R', 0, 1, 0x78, 16, 2, 0x1b, 0x1b, 12, 7, 8, 0x90, 1};
  append(frames_bytes, uint32_t(36));
  append(frames_bytes, uint32_t(28));
  append(frames_bytes, uint32_t(0x1000 - 0x4020));
  append(frames_bytes, uint32_t(0x100));
  frames_bytes.push_back(4);
  append(frames_bytes, uint32_t(0x5000 - 0x4029));
  for (int b : {DW_CFA_advance_loc | 0x10, int(DW_CFA_def_cfa_offset), 16, DW_CFA_offset | 6, 2, int(DW_CFA_set_loc)})
    frames_bytes.push_back(uint8_t(b));
  append(frames_bytes, uint32_t(0x1090 - (0x4000 + frames_bytes.size())));
  for (int b : {int(DW_CFA_remember_state), int(DW_CFA_GNU_args_size), 16, int(DW_CFA_GNU_negative_offset_extended), 3,
                2, 0, 0, 0})
    frames_bytes.push_back(uint8_t(b));
  put(frames_bytes, 24, uint32_t(frames_bytes.size() - 28));
  // One call site, 0x40 bytes at 0x1040, pad 0x90, the first action: catch by type 1, then by type 2.
  Bytes table = {0xff, DW_EH_PE_absptr, 28, DW_EH_PE_uleb128, 5, 0x40, 0x40, 0x90, 1, 1, 1, 1, 2, 0};
  table.resize(15);
  append(table, uint64_t(0));       // type 2
  append(table, uint64_t(0x3500));  // type 1
  SmallElf elf;
  elf.loads = {{0x1000, PF_R | PF_X, Bytes(0x2800)}, {0x4000, PF_R, frames_bytes}, {0x5000, PF_R | PF_W, table}};
  elf.eh_frame = {0x4000, frames_bytes.size()};
  elf.relocations = {{0x500f, ELF64_R_INFO(9, R_X86_64_64), 0}};
  const Image image = elf.image();
  const EhFrame frames = read_eh_frame(image);
  REQUIRE(frames.fdes.size() == 1);
  CHECK(frames.fdes[0].range.size() == 0x100);
  const auto lsda = read_lsda(image, frames, frames.fdes[0]);
  REQUIRE(lsda);
  CHECK(lsda->call_sites[0].landing_pad == OldAddr(0x1090));
  CHECK(lsda->types_indirect);
  CHECK(lsda->types == std::vector{OldAddr(0x5017), OldAddr(0x500f)});

  // Only [0x1020, 0x1060) and [0x10a0, 0x1180) are copied.
  CopyMap copies;
  copies.add({.original = {OldAddr(0x1020), OldAddr(0x1060)},
              .function = OldAddr(0x1020),
              .start = NewAddr(0x10000),
              .size = 0x50,
              .steps = {{0, 0}, {0x30, 0x10}}});
  copies.add({.original = {OldAddr(0x10a0), OldAddr(0x1180)},
              .function = OldAddr(0x10a0),
              .start = NewAddr(0x10100),
              .size = 0xe0,
              .steps = {{0, 0}}});
  copies.sort();
  const UnwindTables tables = write_unwind(image, frames, copies, {}, NewAddr(0x11000));
  const UnwindPlaces places = unwind_places(tables, NewAddr(0x11000));
  SmallElf result;
  Bytes written = tables.eh_frame;
  written.resize(places.except_table - places.eh_frame);
  append_bytes(written, tables.except_table);
  result.loads = {
      {0x1000, PF_R | PF_X, Bytes(0x2800)}, {0x10000, PF_R | PF_X, Bytes(0x1000)}, {0x11000, PF_R, written}};
  result.eh_frame = {0x11000, tables.eh_frame.size()};
  const Image new_image = result.image();
  const EhFrame new_frames = read_eh_frame(new_image);
  REQUIRE(new_frames.fdes.size() == 3);
  const auto row = [&](uint64_t a) { return row_at(new_frames, *new_frames.find(OldAddr(a)), OldAddr(a)); };
  CHECK(row(0x1000)->is_empty_frame());
  CHECK(row(0x1010)->cfa_offset == 16);
  CHECK(row(0x10000)->cfa_offset == 16);  // what holds at 0x1020
  CHECK(row(0x1004f)->cfa_offset == 16);
  CHECK(row(0x10100)->cfa_offset == 16);
  CHECK(new_frames.fdes[2].range.end == OldAddr(0x10160));
  const auto program = [](const EhFrame& f, const Fde& fde) {
    std::vector<std::tuple<uint64_t, int, uint64_t, uint64_t>> p;
    CfaReader reader(f, fde);
    for (CfaInstruction i; reader.next(i);) p.push_back({i.location.value, i.opcode, i.reg, i.operand});
    CHECK(!reader.why());
    return p;
  };
  CHECK(program(frames, frames.fdes[0]) == program(new_frames, new_frames.fdes[0]));
  CHECK(program(frames, frames.fdes[0]) ==
        decltype(program(frames, frames.fdes[0])){{0x1010, DW_CFA_def_cfa_offset, 0, 16},
                                                  {0x1010, DW_CFA_offset, 6, uint64_t(-16)},
                                                  {0x1090, DW_CFA_remember_state, 0, 0},
                                                  {0x1090, DW_CFA_GNU_args_size, 0, 16},
                                                  {0x1090, DW_CFA_GNU_negative_offset_extended, 3, 16}});
  const auto part = read_lsda(new_image, new_frames, new_frames.fdes[1]);
  REQUIRE(part);
  REQUIRE(part->call_sites.size() == 1);
  CHECK(part->call_sites[0].range.start == OldAddr(0x10020));
  CHECK(part->call_sites[0].range.end == OldAddr(0x10050));
  CHECK(part->call_sites[0].landing_pad == OldAddr(0x1090));
  CHECK(part->types == lsda->types);
  CHECK(new_frames.fdes[0].lsda == OldAddr(0x5000));
}
