// Unwind tables of programs that are installed or compiled here, written for copies of their functions. libdw reads the
// old tables and the new ones.

#include "linker-rewrite/unwind/unwind.h"

#include <doctest/doctest.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <sstream>

#include "linker-rewrite/unwind/cfa.h"
#include "tests/integration/code_fixture.h"
#include "tests/unit/unwind_fixture.h"

using namespace code_fixture;
using namespace unwind_fixture;

namespace {

// libdw's view of an image's unwind tables.
class Rows {
 public:
  explicit Rows(const Image& image) {
    elf_version(EV_CURRENT);
    elf_ = elf_memory(const_cast<char*>(reinterpret_cast<const char*>(image.file().data())), image.file().size());
    cfi_ = dwarf_getcfi_elf(elf_);
  }
  ~Rows() {
    dwarf_cfi_end(cfi_);
    elf_end(elf_);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  // Where the CFA and all registers are when control is at `address`, as text. In a copy, registers whose place is
  // below the return address of a frame that was given up are said to be restored: leave those out (`given_up`), to
  // compare. `depth`: by how much the stack pointer is lower there, so offsets from it are told as if it were not.
  std::string at(uint64_t address, bool given_up = false, uint32_t depth = 0) const {
    Dwarf_Frame* frame = nullptr;
    if (dwarf_cfi_addrframe(cfi_, address, &frame) != 0) return "no row";
    std::ostringstream s;
    Dwarf_Addr start, end;
    bool signal = false;
    s << "return register " << dwarf_frame_info(frame, &start, &end, &signal) << (signal ? " signal" : "") << " CFA";
    Dwarf_Op* ops = nullptr;
    size_t count = 0;
    const auto show = [&] {
      for (size_t i = 0; i < count; ++i) {
        Dwarf_Op& o = ops[i];
        if (o.atom == DW_OP_bregx && o.number == 7) o.number2 -= depth;
        if (o.atom == DW_OP_breg7) o.number -= depth;
        s << ' ' << unsigned(o.atom) << ',' << o.number << ',' << o.number2;
      }
    };
    if (dwarf_frame_cfa(frame, &ops, &count) == 0) show();
    given_up = given_up && count == 1 && ops[0].atom == DW_OP_bregx && ops[0].number == 7 && ops[0].number2 == 8;
    for (int r = 0; r <= 16; ++r) {
      Dwarf_Op memory[3];
      if (dwarf_frame_register(frame, r, memory, &ops, &count) != 0) continue;
      const bool below = count == 2 && ops[1].atom == DW_OP_plus_uconst && int64_t(ops[1].number) < -8;
      if (given_up && (count == 0 || below)) continue;
      s << " r" << r << (count == 0 ? ops ? " same" : " undefined" : "");
      show();
    }
    free(frame);
    return s.str();
  }

 private:
  Elf* elf_ = nullptr;
  Dwarf_CFI* cfi_ = nullptr;
};

// Offsets in an FDE's range that matter: around the start of every row, and some others.
std::set<uint64_t> interesting_offsets(const EhFrame& frames, const Fde& fde, std::mt19937& random) {
  std::set<uint64_t> offsets = {0, fde.range.size() - 1, random() % fde.range.size()};
  CfaReader reader(frames, fde);
  for (CfaInstruction i; reader.next(i);)
    for (uint64_t o : {i.location - fde.range.start, i.location - fde.range.start - 1})
      if (o < fde.range.size()) offsets.insert(o);
  return offsets;
}

}  // namespace

TEST_CASE("unwind: every row of real programs holds at the same instructions of the copies") {
  for (const char* path : {"/usr/bin/lua5.4", "/proc/self/exe", "/usr/bin/python3.11"}) {
    CAPTURE(path);
    if (!std::filesystem::exists(path)) continue;
    const Image image = Image::open(path);
    const EhFrame frames = read_eh_frame(image);
    const Rewritten r = rewrite(image, frames, 1);
    const Rows before(image), after(r.image);
    std::mt19937 random(2);
    size_t copied = 0;
    std::string first_difference;
    for (const Fde& f : frames.fdes) {
      const RangeCopy* copy = r.copies.find(f.range.start);
      if (frames.fdes.size() > 2000 && random() % 8 != 0) continue;
      copied += copy != nullptr;
      for (uint64_t offset : interesting_offsets(frames, f, random)) {
        const uint64_t old_place = (f.range.start + offset).value;
        std::vector<uint64_t> places = {old_place};  // the original text keeps its rows
        if (copy) {
          // The first and the last byte of what stands for this offset, what is inserted before it included.
          places.push_back((copy->start + copy->offset(offset)).value);
          const bool last = offset + 1 == f.range.size();
          places.push_back((copy->start + (last ? copy->size : copy->offset(offset + 1)) - 1).value);
        }
        for (uint64_t place : places) {
          const bool in_copy = place != old_place;
          const std::string expected = before.at(old_place, in_copy), got = after.at(place, in_copy);
          if (got != expected && first_difference.empty())
            first_difference = std::to_string(place) + ": " + got + " instead of " + expected;
        }
      }
    }
    CHECK(first_difference == "");
    CHECK(copied > 100);
    // One address further there is nothing.
    for (const RangeCopy& c : r.copies.copies())
      if (const Fde* f = fde_at(r.frames, c.start + c.size)) CHECK(f->range.start.value == c.start.value + c.size);
  }
}

TEST_CASE("unwind: in the records of real programs the row of their place holds") {
  for (const char* path : {"/usr/bin/lua5.4", "/proc/self/exe", "/usr/bin/python3.11"}) {
    CAPTURE(path);
    if (!std::filesystem::exists(path)) continue;
    const Image image = Image::open(path);
    const EhFrame frames = read_eh_frame(image);
    const Rewritten r = rewrite(image, frames, 4, true);
    const Rows before(image), after(r.image);
    std::mt19937 random(5);
    size_t checked = 0;
    std::string first_difference;
    for (const RangeCopy& copy : r.copies.copies()) {
      if (frames.fdes.size() > 2000 && random() % 16 != 0) continue;
      for (const PlacedRecord& record : r.records.at(copy.start)) {
        const std::string expected = before.at(record.place.value, true);
        std::vector<StackDepth> depths =
            record.is_full_window ? stack_depths_of_full_window(record.code) : stack_depths(record.code);
        if (!record.is_full_window) depths.insert(depths.begin(), {0, 0});
        depths.push_back({record.size, 0});
        for (size_t i = 0; i + 1 < depths.size(); ++i)
          for (uint32_t at : {depths[i].at, depths[i + 1].at - 1}) {
            if (depths[i].at == depths[i + 1].at) continue;
            const std::string got = after.at((copy.start + record.at + at).value, true, depths[i].depth);
            ++checked;
            if (got != expected && first_difference.empty())
              first_difference = std::to_string(record.place.value) + ": " + got + " instead of " + expected;
          }
      }
    }
    CHECK(first_difference == "");
    CHECK(checked > 1000);
  }
}

TEST_CASE("unwind: the search table is sorted and complete") {
  const Image image = Image::open("/usr/bin/lua5.4");
  const EhFrame frames = read_eh_frame(image);
  const Rewritten r = rewrite(image, frames, 3);
  Reader header(r.tables.eh_frame_hdr, "");
  CHECK(header.u32() == 0x3b031b01);
  const uint64_t base = r.places.eh_frame_hdr.value;
  CHECK(base + 4 + uint64_t(int64_t(header.read<int32_t>())) == r.places.eh_frame.value);
  const uint32_t count = header.u32();
  CHECK(count == frames.fdes.size() + r.copies.copies().size());
  REQUIRE(header.remaining() == count * 8);
  int64_t last = INT64_MIN;
  std::set<std::pair<uint64_t, uint64_t>> entries;
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t code = header.read<int32_t>(), fde = header.read<int32_t>();
    CHECK(code >= last);
    last = code;
    entries.insert({base + uint64_t(code), base + uint64_t(fde)});
  }
  for (const Fde& f : r.frames.fdes) CHECK(entries.count({f.range.start.value, f.record.value}) == 1);
  CHECK(r.places.eh_frame.value % 8 == 0);
  CHECK(r.places.except_table.value % 8 == 0);
  CHECK(r.places.eh_frame_hdr.value % 8 == 0);
}

TEST_CASE("unwind: code of another file that becomes part of the output") {
  const Image image = Image::open("/usr/bin/lua5.4"), other = Image::open("/usr/bin/bzip2");
  const EhFrame frames = read_eh_frame(image), others = read_eh_frame(other);
  const NewAddr at(align_up(image.span().end.value, 0x1000));
  AddedCode added{&other, others, {}};
  added.copies.add({.original = other.span(),
                    .function = other.span().start,
                    .start = at,
                    .size = other.span().size(),
                    .steps = {{0, 0}}});
  const NewAddr tables_at = at + align_up(other.span().size(), 0x1000);
  const UnwindTables tables = write_unwind(image, frames, CopyMap(), &added, tables_at);
  Bytes section = tables.eh_frame;
  const UnwindPlaces places = unwind_places(tables, tables_at);
  section.resize(places.eh_frame_hdr - tables_at);
  append_bytes(section, tables.eh_frame_hdr);
  const Image result =
      with_segments(image, {{at.value, PF_R | PF_X, Bytes(other.span().size())}, {tables_at.value, PF_R, section}},
                    places.eh_frame_hdr.value, tables.eh_frame_hdr.size());
  const EhFrame written = read_eh_frame(result);
  CHECK(written.fdes.size() == frames.fdes.size() + others.fdes.size());
  for (const Fde& f : others.fdes) {
    const OldAddr moved(f.range.start.value + (at.value - other.span().start.value));
    const Fde* found = written.find(moved);
    REQUIRE(found);
    CHECK(found->range.start == moved);
    CHECK(found->range.size() == f.range.size());
    CHECK(row_at(written, *found, found->range.end - 1)->cfa_offset == row_at(others, f, f.range.end - 1)->cfa_offset);
  }
}

TEST_CASE("unwind: new code without frames") {
  const Image image = Image::open("/usr/bin/lua5.4");
  const EhFrame frames = read_eh_frame(image);
  const NewAddr code(align_up(image.span().end.value, 0x1000)), at = code + 0x1000;
  const UnwindTables tables = write_unwind(image, frames, CopyMap(), nullptr, at, {code, 48});
  Bytes section = tables.eh_frame;
  const UnwindPlaces places = unwind_places(tables, at);
  section.resize(places.eh_frame_hdr - at);
  append_bytes(section, tables.eh_frame_hdr);
  const Image result = with_segments(image, {{code.value, PF_R | PF_X, Bytes(48)}, {at.value, PF_R, section}},
                                     places.eh_frame_hdr.value, tables.eh_frame_hdr.size());
  const EhFrame written = read_eh_frame(result);
  CHECK(written.fdes.size() == frames.fdes.size() + 1);
  const Fde* found = written.find(OldAddr(code.value + 47));
  REQUIRE(found);
  CHECK(found->range.start.value == code.value);
  CHECK(found->range.size() == 48);
  CHECK(found->lsda == OldAddr());
  CHECK(found->cfa_is_rsp_plus_8);
  CHECK(row_at(written, *found, found->range.end - 1)->is_empty_frame());
}

TEST_CASE("unwind: what depends on the place of the code is refused, and described as before where it stays") {
  const char* text = R"(
    asm(".text\n"
        "pc_relative:\n.cfi_startproc\n"
        ".cfi_escape 0x0f,11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22\n"  // as linkers describe .plt
        "nop\nret\n.cfi_endproc\n"
        "signal_frame:\n.cfi_startproc\n.cfi_signal_frame\nnop\nret\n.cfi_endproc\n"
        "aligned:\n.cfi_startproc\nnop\n"
        ".cfi_escape 0x0f,6,0x76,0x78,0x06,0x28,0,0\n"  // CFA = *(rbp - 8), with a branch to the next operation
        "nop\nret\n.cfi_endproc\n");
    int main() {})";
  ScratchDirectory directory;
  const std::string program = compile(directory, text, "g++");
  REQUIRE(program != "");
  const Image image = Image::open(program);
  const EhFrame frames = read_eh_frame(image);
  const auto fde_of = [&](const char* name) {
    auto symbol = std::ranges::find(image.symbols(), std::string(name), &Symbol::name);
    REQUIRE(symbol != image.symbols().end());
    return frames.find(symbol->address);
  };
  CHECK(why_not_rewritable(image, frames, fde_of("pc_relative")->range) == Reason(ReasonCode::unwind_program_counter));
  CHECK(why_not_rewritable(image, frames, fde_of("signal_frame")->range) == Reason(ReasonCode::signal_frame));
  CHECK(!why_not_rewritable(image, frames, fde_of("aligned")->range));
  const OldRange both{fde_of("pc_relative")->range.start, fde_of("aligned")->range.end};
  CHECK(why_not_rewritable(image, frames, both));

  const Rewritten r = rewrite(image, frames, 5);
  const Rows before(image), after(r.image);
  for (const char* name : {"pc_relative", "signal_frame", "aligned"}) {
    const uint64_t a = fde_of(name)->range.start.value + 1;
    CHECK(before.at(a) != "no row");
    CHECK(before.at(a) == after.at(a));
  }
}

TEST_CASE("unwind: before a return, saved registers are not looked for below the stack") {
  const char* text = R"(
    int main() {}
    asm(".text\n.type f, @function\nf:\n.cfi_startproc\n"
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\n"    // 0
        "push %rbx\n.cfi_def_cfa_offset 24\n.cfi_offset 3, -24\n"    // 1
        "jne 1f\n.cfi_remember_state\n"                               // 2
        "pop %rbx\n.cfi_def_cfa_offset 16\n"                          // 4
        "pop %rbp\n.cfi_def_cfa_offset 8\n"                           // 5
        "ret\n.cfi_restore_state\n"                                   // 6
        "1: nop\n"                                                     // 7
        "pop %rbx\n.cfi_def_cfa_offset 16\npop %rbp\n.cfi_def_cfa_offset 8\n"  // 8, 9
        "ret\n"                                                        // 10
        "nop\n.cfi_def_cfa_offset 24\n"                               // 11: row as before, without restore_state
        "nop\n.cfi_endproc\n.size f, .-f\n");                         // 12
    )";
  ScratchDirectory directory;
  const std::string program = compile(directory, text, "g++");
  REQUIRE(program != "");
  const Image image = Image::open(program);
  const EhFrame frames = read_eh_frame(image);
  const OldAddr f = std::ranges::find(image.symbols(), std::string("f"), &Symbol::name)->address;
  const Rewritten r = rewrite(image, frames, 6);
  const RangeCopy* copy = r.copies.find(f);
  REQUIRE(copy);
  const Rows before(image), after(r.image);
  for (uint64_t offset = 0; offset <= 12; ++offset) {
    CAPTURE(offset);
    const std::string old_row = before.at((f + offset).value), new_row = after.at(copy->address(f + offset).value);
    if (offset == 6 || offset == 10 || offset == 11)
      CHECK(new_row == before.at(f.value));  // everything as at the entry
    else
      CHECK(new_row == old_row);
    CHECK(after.at((f + offset).value) == old_row);
  }
}

TEST_CASE("unwind: too far is an error") {
  const Image image = Image::open("/usr/bin/lua5.4");
  const EhFrame frames = read_eh_frame(image);
  CHECK_THROWS_AS(write_unwind(image, frames, CopyMap(), {}, NewAddr(uint64_t(1) << 32)), Error);
}
