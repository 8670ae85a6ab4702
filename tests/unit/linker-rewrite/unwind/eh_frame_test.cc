// Unwind tables put together record by record: encodings, augmentations, damage.

#include "linker-rewrite/unwind/eh_frame.h"

#include <doctest/doctest.h>
#include <elfutils/libdw.h>

#include <map>
#include <random>

#include "linker-rewrite/unwind/cfa.h"
#include "linker-rewrite/unwind/lsda.h"
#include "linker-rewrite/unwind/unwind.h"
#include "tests/unit/unwind_fixture.h"

using namespace unwind_fixture;

namespace {

constexpr uint64_t kCode = 0x1000, kTable = 0x4000;

// .eh_frame, record by record.
struct Table {
  Bytes bytes;

  size_t here() const { return bytes.size(); }
  uint64_t address() const { return kTable + bytes.size(); }
  void number(uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) bytes.push_back(uint8_t(value >> (8 * i)));
  }
  size_t begin(bool long_form) {
    const size_t start = here();
    number(0xffffffff, 4);
    if (long_form) number(0, 8);
    long_form_ = long_form;
    return start;
  }
  void end(size_t start) {
    while (here() % 4 != 0) bytes.push_back(DW_CFA_nop);
    if (long_form_)
      put(bytes, start + 4, uint64_t(here() - start - 12));
    else
      put(bytes, start, uint32_t(here() - start - 4));
  }
  // A CIE whose augmentation data, without their length, are `data`; its initial row is that of a function's entry.
  size_t cie(const char* augmentation, Bytes data, bool long_form = false) {
    const size_t start = begin(long_form);
    number(0, 4);
    number(1, 1);
    for (const char* p = augmentation; *p; ++p) number(uint8_t(*p), 1);
    number(0, 1);
    if (std::string(augmentation) == "eh") number(0, 8);
    append_uleb(bytes, 1);
    number(0x78, 1);  // data alignment -8
    number(16, 1);
    if (*augmentation == 'z') {
      append_uleb(bytes, data.size());
      append_bytes(bytes, data);
    }
    for (int b : {int(DW_CFA_def_cfa), 7, 8, DW_CFA_offset | 16, 1}) number(uint64_t(b), 1);
    end(start);
    return start;
  }
  size_t fde_head(size_t cie_at, bool long_form = false) {
    const size_t start = begin(long_form);
    number(here() - cie_at, 4);
    return start;
  }
  // An FDE with a CIE of augmentation "zR" and pointers DW_EH_PE_pcrel | DW_EH_PE_sdata4.
  void fde(size_t cie_at, uint64_t code, uint64_t size, const Bytes& instructions = {}, bool long_form = false) {
    const size_t start = fde_head(cie_at, long_form);
    number(code - address(), 4);
    number(size, 4);
    append_uleb(bytes, 0);
    append_bytes(bytes, instructions);
    end(start);
  }
  SmallElf elf() const {
    SmallElf e;
    e.loads = {{kCode, PF_R | PF_X, Bytes(0x2000, 0x90)}, {kTable, PF_R, bytes}};
    e.eh_frame = {kTable, bytes.size()};
    return e;
  }
  // For tests that do not look at the programs: those stay in the image.
  EhFrame read() const { return read_eh_frame(elf().image()); }

 private:
  bool long_form_ = false;  // of the record that was begun last
};

}  // namespace

TEST_CASE("eh_frame: pointers in every encoding") {
  struct Case {
    int encoding;
    size_t size;
    bool relative;
  };
  for (Case c : {Case{DW_EH_PE_absptr, 8, false}, Case{DW_EH_PE_udata2, 2, false}, Case{DW_EH_PE_udata4, 4, false},
                 Case{DW_EH_PE_udata8, 8, false}, Case{DW_EH_PE_sdata2, 2, false}, Case{DW_EH_PE_sdata4, 4, false},
                 Case{DW_EH_PE_sdata8, 8, false}, Case{DW_EH_PE_pcrel, 8, true},
                 Case{DW_EH_PE_pcrel | DW_EH_PE_sdata2, 2, true}, Case{DW_EH_PE_pcrel | DW_EH_PE_sdata4, 4, true},
                 Case{DW_EH_PE_pcrel | DW_EH_PE_sdata8, 8, true}, Case{DW_EH_PE_aligned, 8, false}}) {
    CAPTURE(c.encoding);
    Table t;
    const size_t cie = t.cie("zR", {uint8_t(c.encoding)});
    for (uint64_t code : {0x1100u, 0x1200u}) {
      const size_t start = t.fde_head(cie);
      if (c.encoding == DW_EH_PE_aligned)
        while (t.address() % 8 != 0) t.number(0, 1);
      t.number(c.relative ? code - t.address() : code, c.size);
      t.number(0x34, c.size);
      append_uleb(t.bytes, 0);
      t.end(start);
    }
    CHECK(ranges(t.read()) == Ranges{{0x1100, 0x34}, {0x1200, 0x34}});
  }
  Table variable;
  const size_t cie = variable.cie("zR", {DW_EH_PE_uleb128});
  const size_t start = variable.fde_head(cie);
  append_uleb(variable.bytes, 0x1100);
  append_uleb(variable.bytes, 0x200);
  append_uleb(variable.bytes, 0);
  variable.end(start);
  CHECK(ranges(variable.read()) == Ranges{{0x1100, 0x200}});

  Table unknown;
  unknown.fde(unknown.cie("zR", {DW_EH_PE_datarel | DW_EH_PE_sdata4}), 0x1100, 16);
  CHECK_THROWS_AS(unknown.read(), Error);
}

TEST_CASE("eh_frame: pointers that the dynamic linker fills in") {
  Table t;
  const size_t cie = t.cie("zR", {DW_EH_PE_absptr});
  const size_t start = t.fde_head(cie);
  const uint64_t word = t.address();
  t.number(0, 8);
  t.number(0x40, 8);
  append_uleb(t.bytes, 0);
  t.end(start);
  SmallElf elf = t.elf();
  CHECK(read_eh_frame(elf.image()).fdes.empty());
  elf.relocations = {{word, ELF64_R_INFO(0, R_X86_64_RELATIVE), 0x1100}};
  CHECK(ranges(read_eh_frame(elf.image())) == Ranges{{0x1100, 0x40}});
}

TEST_CASE("eh_frame: augmentations in any order") {
  const auto relative = [](uint64_t target, uint64_t place) { return uint32_t(target - place); };
  for (const char* letters : {"zPLR", "zRLP", "zLPRS", "zSRPLB"}) {
    CAPTURE(letters);
    Bytes data;
    const uint64_t data_at = kTable + 4 + 4 + 1 + strlen(letters) + 1 + 3 + 1;
    for (const char* p = letters + 1; *p; ++p) {
      if (*p == 'P') {
        append<uint8_t>(data, DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4);
        append(data, relative(0x3000, data_at + data.size()));
      } else if (*p == 'L' || *p == 'R') {
        append<uint8_t>(data, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
      }
    }
    Table t;
    const size_t start = t.fde_head(t.cie(letters, data));
    t.number(0x1100 - t.address(), 4);
    t.number(0x40, 4);
    append_uleb(t.bytes, 4);
    t.number(0x2000 - t.address(), 4);
    t.end(start);
    const EhFrame frames = t.read();
    REQUIRE(frames.fdes.size() == 1);
    CHECK(frames.fdes[0].lsda == OldAddr(0x2000));
    CHECK(frames.cies[0].personality == OldAddr(0x3000));
    CHECK(frames.cies[0].personality_indirect);
    CHECK(frames.cies[0].signal_frame == (std::string(letters).find('S') != std::string::npos));
    CHECK(frames.fdes[0].cfa_is_rsp_plus_8);
  }
}

TEST_CASE("eh_frame: what is outdated or unknown is told") {
  Table old;
  const size_t start = old.fde_head(old.cie("eh", {}));
  old.number(0x1100, 8);
  old.number(0x40, 8);
  old.end(start);
  const Image image = old.elf().image();
  const EhFrame frames = read_eh_frame(image);
  REQUIRE(ranges(frames) == Ranges{{0x1100, 0x40}});
  CHECK(why_not_rewritable(image, frames, frames.fdes[0].range) == Reason(ReasonCode::unwind_outdated));

  Table unknown;
  unknown.fde(unknown.cie("Rz", {}), 0x1100, 0x40);
  CHECK_THROWS_AS(unknown.read(), Error);
}

TEST_CASE("eh_frame: terminators in the middle, long lengths, empty, overlapping and endless ranges") {
  Table t;
  const size_t cie = t.cie("zR", {DW_EH_PE_pcrel | DW_EH_PE_sdata4});
  t.fde(cie, 0x1100, 0x40);
  t.number(0, 4);  // two inputs ended here
  t.number(0, 4);
  const size_t second = t.cie("zR", {DW_EH_PE_pcrel | DW_EH_PE_sdata4}, true);
  t.fde(second, 0x1300, 0, {}, true);
  t.fde(second, 0x1200, 0x100, {}, true);
  t.fde(cie, 0x1210, 0x10);
  t.fde(cie, 0x1000, 0x40);
  t.fde(cie, 0x1400, uint64_t(-0x200));  // ends after the code, if at all
  t.number(0, 4);
  const EhFrame frames = t.read();
  CHECK(ranges(frames) == Ranges{{0x1000, 0x40}, {0x1100, 0x40}, {0x1200, 0x100}, {0x1210, 0x10}});
  const auto start_of = [](const Fde* f) { return f ? f->range.start.value : 0; };
  CHECK(start_of(frames.find(OldAddr(0x1000))) == 0x1000);
  CHECK(start_of(frames.find(OldAddr(0x103f))) == 0x1000);
  CHECK(start_of(frames.find(OldAddr(0x1040))) == 0);
  CHECK(start_of(frames.find(OldAddr(0x1215))) == 0x1210);
  CHECK(start_of(frames.find(OldAddr(0x1220))) == 0x1200);
  CHECK(start_of(frames.find(OldAddr(0x1300))) == 0);
  CHECK(start_of(frames.find(OldAddr(0x0fff))) == 0);

  // Without sections, the sorted table leads to the records after a terminator.
  SmallElf elf = t.elf();
  Bytes& bytes = elf.loads[1].bytes;
  bytes.resize(align_up(bytes.size(), 4));
  const uint64_t header = kTable + bytes.size();
  for (int b : {1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, int(DW_EH_PE_udata4), DW_EH_PE_datarel | DW_EH_PE_sdata4})
    bytes.push_back(uint8_t(b));
  append(bytes, uint32_t(kTable - (header + 4)));
  append(bytes, uint32_t(frames.fdes.size()));
  for (const Fde& f : frames.fdes) {
    append(bytes, uint32_t(f.range.start.value - header));
    append(bytes, uint32_t(f.record.value - header));
  }
  append(bytes, uint32_t(0));
  append_bytes(bytes, Bytes(64, 0xff));  // what follows is something else
  elf.eh_frame = {};
  elf.eh_frame_hdr = {header, 12 + 8 * frames.fdes.size()};
  CHECK(ranges(read_eh_frame(elf.image())) == ranges(frames));
}

TEST_CASE("eh_frame: rows") {
  Table t;
  const size_t cie = t.cie("zR", {DW_EH_PE_pcrel | DW_EH_PE_sdata4});
  const Bytes program = {DW_CFA_advance_loc | 1,
                         DW_CFA_def_cfa_offset,
                         16,
                         DW_CFA_remember_state,
                         DW_CFA_advance_loc1,
                         0x10,
                         DW_CFA_def_cfa,
                         6,
                         16,
                         DW_CFA_advance_loc2,
                         0x10,
                         0,
                         DW_CFA_restore_state,
                         DW_CFA_GNU_args_size,
                         32,
                         DW_CFA_advance_loc4,
                         1,
                         0,
                         0,
                         0,
                         DW_CFA_def_cfa_offset,
                         8};
  t.fde(cie, 0x1100, 0x40, program);
  t.fde(cie, 0x1200, 0x40, {DW_CFA_undefined, 16, DW_CFA_advance_loc | 4, DW_CFA_def_cfa_expression, 1, DW_OP_breg7});
  t.fde(cie, 0x1300, 0x40, {DW_CFA_advance_loc | 4, 0x3e});
  const Image image = t.elf().image();
  const EhFrame frames = read_eh_frame(image);
  const auto empty_at = [&](uint64_t a) { return frame_is_empty_at(frames, *frames.find(OldAddr(a)), OldAddr(a)); };
  const std::map<uint64_t, bool> expected = {{0x1100, true},  {0x1101, false}, {0x1110, false}, {0x1111, false},
                                             {0x1121, false}, {0x1122, true},  {0x113f, true}};
  for (const auto& entry : expected) {
    CAPTURE(entry.first);
    CHECK(empty_at(entry.first) == entry.second);
  }
  CHECK(row_at(frames, frames.fdes[0], OldAddr(0x1111))->cfa_register == 6);
  CHECK(row_at(frames, frames.fdes[0], OldAddr(0x1121))->cfa_register == 7);
  CHECK(frames.fdes[1].no_return_address);
  CHECK(frames.fdes[1].cfa_is_rsp_plus_8);
  CHECK(empty_at(0x1203) == true);
  CHECK(empty_at(0x1204) == false);
  CHECK_FALSE(empty_at(0x1304).has_value());  // no such instruction
}

TEST_CASE("eh_frame: damage is told or survived, never more") {
  const Image image = Image::open("/proc/self/exe");  // C++, with exception tables
  const EhFrame frames = read_eh_frame(image);
  REQUIRE(image.section(".eh_frame"));
  REQUIRE(image.section(".gcc_except_table"));
  // A part of the program that keeps its addresses, small enough to be damaged many times.
  SmallElf elf;
  for (const Elf64_Phdr& s : image.segments())
    if (s.p_type == PT_LOAD && !(s.p_flags & PF_W))
      elf.loads.push_back(
          {s.p_vaddr, s.p_flags,
           Bytes(image.file().begin() + long(s.p_offset), image.file().begin() + long(s.p_offset + s.p_filesz))});
  const Elf64_Shdr& section = image.section(".eh_frame")->header;
  const Elf64_Shdr& handlers = image.section(".gcc_except_table")->header;
  elf.eh_frame = {section.sh_addr, section.sh_size};
  const Bytes good = elf.build();
  const uint64_t frames_at = Image::from_bytes(good).file_offset(OldAddr(section.sh_addr))->value;
  const uint64_t handlers_at = Image::from_bytes(good).file_offset(OldAddr(handlers.sh_addr))->value;

  std::mt19937 random(1);
  size_t refused = 0, read = 0;
  for (int round = 0; round < 60; ++round) {
    Bytes bad = good;
    for (int i = 0; i < 1 + round % 8; ++i) {
      bad[frames_at + random() % elf.eh_frame.second] = uint8_t(random());
      for (int k = 0; k < 20; ++k) bad[handlers_at + random() % handlers.sh_size] = uint8_t(random());
    }
    try {
      const Image damaged = Image::from_bytes(std::move(bad));
      const EhFrame found = read_eh_frame(damaged);
      CopyMap copies;
      OldAddr end;
      for (const Fde& f : found.fdes) {
        if (why_not_rewritable(damaged, found, f.range) || f.range.start < end) continue;
        end = f.range.end;
        copies.add({.original = f.range,
                    .function = f.range.start,
                    .start = unmoved(f.range.start) + (1 << 24),
                    .size = f.range.size(),
                    .steps = {{0, 0}}});
      }
      copies.sort();
      write_unwind(damaged, found, copies, {}, NewAddr(1 << 24));
      ++read;
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(read > 0);
  CHECK(refused > 0);
}
