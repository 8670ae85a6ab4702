// Programs whose functions were copied, as far as unwinding goes.

#ifndef TESTS_UNIT_UNWIND_FIXTURE_H
#define TESTS_UNIT_UNWIND_FIXTURE_H

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "linker-rewrite/unwind/register_rules.h"
#include "linker-rewrite/unwind/unwind.h"
#include "tests/unit/elf_fixture.h"

namespace unwind_fixture {

using namespace elf_fixture;

// The program with copies of its functions, which have something inserted at random places, and the tables for them.
// Only the tables are real: the copies' bytes are zeros.
struct Rewritten {
  CopyMap copies;
  std::map<NewAddr, std::vector<PlacedRecord>> records;  // by the start of the copy
  UnwindTables tables;
  UnwindPlaces places;
  Image image;
  EhFrame frames;
};

inline RecordCode random_record(std::mt19937& random) {
  RecordCode code;
  code.keeps_flags = random() % 2 == 0;
  code.saves_rax = code.keeps_flags && random() % 2 == 0;
  code.saves_scratch = random() % 2 == 0;
  code.scratch = code.keeps_flags ? 8 : kRax;
  if (random() % 2 == 0) return code;
  for (const uint8_t value : {uint8_t(3), kRsp, kProcessorFlags, kFsBase})
    if (random() % 2 == 0) code.values.push_back(value);
  if (code.keeps_flags && random() % 2 == 0) code.values.push_back(kRax);
  if (!needs_second(code.values, code.keeps_flags)) return code;
  code.second = 9;
  code.saves_second = random() % 2 == 0;
  return code;
}

// Records at random places in the copy: before instructions, of one byte, and on ways that jumps lead to first.
inline std::vector<PlacedRecord> add_records(RangeCopy& c, const EhFrame& frames, std::mt19937& random) {
  std::vector<PlacedRecord> records, taken, full;
  uint32_t growth = 0;
  for (const RangeCopy::Step& step : std::exchange(c.steps, {})) {
    if (c.steps.empty() || c.steps.back().from != step.from) c.steps.push_back({step.from, 0});
    c.steps.back().delta = step.delta + growth;
    const OldAddr place = c.original.start + step.from;
    if (step.from == 0 || !c.original.contains(place) || random() % 2 == 0) continue;
    if (!row_limits(frames, {place, place + 1}).empty()) continue;
    PlacedRecord record{0, 0, place, random_record(random), false};
    record.size = length_of_record(record.code);
    if (random() % 2 == 0) {
      taken.push_back(record);
    } else {
      record.at = step.from + step.delta + growth;
      growth += record.size;
      c.steps.push_back({step.from + 1, step.delta + growth});
      records.push_back(record);
    }
    record.size = kFullWindowLength;
    record.is_full_window = true;
    full.push_back(record);
  }
  const uint32_t inline_end = uint32_t(c.original.size()) + c.steps.back().delta;
  uint32_t at = inline_end;
  for (const std::vector<PlacedRecord>* list : {&taken, &full})
    for (PlacedRecord record : *list) {
      record.at = at;
      at += record.size;
      records.push_back(record);
    }
  c.size = at;
  c.out_of_line = at - inline_end;
  return records;
}

inline Rewritten rewrite(const Image& image, const EhFrame& frames, unsigned seed, bool has_records = false) {
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
    if (has_records) r.records[c.start] = add_records(c, frames, random);
    at += align_up(c.size + random() % 64, 16);
    r.copies.add(c);
  }
  r.copies.sort();
  const NewAddr tables = at = NewAddr(align_up(at.value, 0x1000));
  RecordsOf records_of;
  if (has_records) records_of = [&](const RangeCopy& c) { return r.records[c.start]; };
  r.tables = write_unwind(image, frames, r.copies, nullptr, tables, {}, records_of);
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

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

// Address and size of what each FDE describes.
inline Ranges ranges(const EhFrame& frames) {
  Ranges r;
  for (const Fde& f : frames.fdes) r.push_back({f.range.start.value, f.range.size()});
  return r;
}

inline const Fde* fde_at(const EhFrame& frames, NewAddr a) { return frames.find(OldAddr(a.value)); }

}  // namespace unwind_fixture

#endif
