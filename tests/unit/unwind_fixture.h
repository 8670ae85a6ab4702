// Programs whose functions were copied, as far as unwinding goes.

#ifndef TESTS_UNIT_UNWIND_FIXTURE_H
#define TESTS_UNIT_UNWIND_FIXTURE_H

#include <random>
#include <vector>

#include "elf_fixture.h"
#include "linker-rewrite/unwind/unwind.h"

namespace unwind_fixture {

using namespace elf_fixture;

// The program with copies of its functions, which have something inserted at random places, and the tables for them.
// Only the tables are real: the copies' bytes are zeros.
struct Rewritten {
  CopyMap copies;
  UnwindTables tables;
  UnwindPlaces places;
  Image image;
  EhFrame frames;
};

inline Rewritten rewrite(const Image& image, const EhFrame& frames, unsigned seed) {
  Rewritten r;
  std::mt19937 random(seed);
  const NewAddr text(align_up(image.span().end.value, 0x1000) + 0x1000);
  NewAddr at = text;
  OldAddr done;
  for (const Fde& f : frames.fdes) {
    if (f.range.start < done || (frames.fdes.size() > 100 && random() % 8 == 0) ||
        !image.bytes(f.range.start, f.range.size()) || why_not_rewritable(image, frames, f.range))
      continue;
    done = f.range.end;
    RangeCopy c{.original = f.range, .function = f.range.start, .start = at, .body = 6, .steps = {{0, 0}, {1, 6}}};
    for (uint32_t from = 1, delta = 6; (from += uint32_t(1 + random() % 100)) < f.range.size();)
      c.steps.push_back({from, delta += uint32_t(1 + random() % 300)});
    c.size = f.range.size() + c.steps.back().delta + random() % 3;
    at += align_up(c.size + random() % 64, 16);
    r.copies.add(c);
  }
  r.copies.sort();
  const NewAddr tables = at = NewAddr(align_up(at.value, 0x1000));
  r.tables = write_unwind(image, frames, r.copies, nullptr, tables);
  r.places = unwind_places(r.tables, tables);

  SmallElf::Load code{text.value, PF_R | PF_X, Bytes(tables - text)}, data{tables.value, PF_R, r.tables.eh_frame};
  data.bytes.resize(r.places.except_table - tables);
  append_bytes(data.bytes, r.tables.except_table);
  data.bytes.resize(r.places.eh_frame_hdr - tables);
  append_bytes(data.bytes, r.tables.eh_frame_hdr);
  r.image = with_segments(image, {code, data}, r.places.eh_frame_hdr.value, r.tables.eh_frame_hdr.size());
  r.frames = read_eh_frame(r.image);
  return r;
}

inline const Fde* fde_at(const EhFrame& frames, NewAddr a) { return frames.find(OldAddr(a.value)); }

}  // namespace unwind_fixture

#endif
