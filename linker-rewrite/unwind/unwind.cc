#include "unwind.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "lsda.h"
#include "register_rules.h"

namespace profld {

namespace {

// Writes the rows of an FDE anew, for code that stands elsewhere: a copy of its code, or code that stands for single
// places of it. In between, records may have moved the stack pointer (register_rules.h).

class RowWriter {
 public:
  // Appends instructions to `out` that begin at the address `start`. `calls_hooks`: what lies below the return address
  // of a frame that has been given up may be overwritten. `has_records`: move_stack will be called.
  RowWriter(Bytes& out, const EhFrame& frames, const Fde& fde, NewAddr start, bool calls_hooks, bool has_records);

  // Writes the instructions for the rows that begin before `end`, as far as they are not written, each for the address
  // new_address(row). These ascend; rows that begin at the same address make one.
  void write_rows(OldAddr end, const std::function<NewAddr(OldAddr)>& new_address);
  bool has_rows_before(OldAddr end) const { return has_next_ && next_.location < end; }

  // From the address `at` on, the stack pointer is `depth` bytes lower than the rows say. Rows are only written where
  // it is 0 lower.
  void move_stack(NewAddr at, uint32_t depth);

  // To be called at the end.
  void finish() { end_row(); }

 private:
  void begin_row(NewAddr at);
  void end_row();
  void advance(NewAddr at);

  Bytes& out_;
  const bool calls_hooks_, has_handlers_;
  CfaState state_;
  CfaReader program_;
  std::optional<RegisterRules> rules_;
  CfaInstruction next_;
  bool has_next_;
  NewAddr location_;
  uint32_t depth_ = 0;
  uint32_t restored_ = 0;  // registers that the row says are restored, until the next row begins
};

RowWriter::RowWriter(Bytes& out, const EhFrame& frames, const Fde& fde, NewAddr start, bool calls_hooks,
                     bool has_records)
    : out_(out),
      calls_hooks_(calls_hooks),
      has_handlers_(fde.lsda != OldAddr()),
      state_(frames, fde),
      program_(frames, fde),
      has_next_(program_.next(next_)),
      location_(start) {
  if (has_records) rules_.emplace(frames, fde);
}

void RowWriter::write_rows(OldAddr end, const std::function<NewAddr(OldAddr)>& new_address) {
  for (; has_rows_before(end); has_next_ = program_.next(next_)) {
    begin_row(new_address(next_.location));
    if (calls_hooks_) state_.apply(next_);
    if (rules_) rules_->apply(next_);
    append_bytes(out_, next_.bytes);
  }
}

void RowWriter::move_stack(NewAddr at, uint32_t depth) {
  if (!rules_) throw internal_error("a record where none was expected");
  if (depth == depth_) return;
  depth_ = depth;
  if (!has_handlers_ && !rules_->uses_stack_pointer()) return;
  end_row();
  advance(at);
  rules_->append_lowered(out_, depth, restored_);
  if (!has_handlers_) return;
  append<uint8_t>(out_, DW_CFA_GNU_args_size);
  append_uleb(out_, rules_->arguments_size() + depth);
}

// Nothing to do if the row has begun. An instruction of the original that is only one in the copy with what stands
// before it may have a row that begins inside.
void RowWriter::begin_row(NewAddr at) {
  if (at > location_) end_row();
  advance(at);
  if (restored_ != 0) append<uint8_t>(out_, DW_CFA_restore_state);
  restored_ = 0;
}

// When the frame has been given up, a copy calls a hook, which overwrites the stack below the return address. So the
// table must not say that registers which have been restored are saved there.
void RowWriter::end_row() {
  if (!calls_hooks_ || restored_ != 0) return;
  restored_ = state_.restored();
  if (restored_ == 0) return;
  append<uint8_t>(out_, DW_CFA_remember_state);
  for (uint8_t r = 0; r < kRegisterRip; ++r)
    if (restored_ >> r & 1) append(out_, uint8_t(DW_CFA_restore | r));
}

void RowWriter::advance(NewAddr at) {
  if (at <= location_) return;
  append_advance(out_, at - location_);
  location_ = at;
}

constexpr uint8_t kRelative4 = DW_EH_PE_pcrel | DW_EH_PE_sdata4;

NewAddr aligned(NewAddr a) { return NewAddr(align_up(a.value, 8)); }

// Pads the record that starts at `start` with nops to a multiple of 8 bytes, and sets its length.
void finish_record(Bytes& out, size_t start) {
  out.resize(align_up(out.size(), 8), DW_CFA_nop);
  put(out, start, uint32_t(out.size() - start - 4));
}

// The FDEs that the header's table lists.
struct Found {
  NewAddr function;
  NewAddr fde;
};

class UnwindWriter {
 public:
  // Appends to `tables`, whose eh_frame lies at `at`, and to `found`.
  UnwindWriter(const Image& image, const EhFrame& frames, const CopyMap& copies, const RecordsOf& records_of,
               NewAddr at, UnwindTables& tables, std::vector<Found>& found)
      : image_(image),
        frames_(frames),
        copies_(copies),
        records_of_(records_of),
        at_(at),
        tables_(tables),
        found_(found),
        new_cies_(frames.cies.size(), kNone) {}

  void write_copies() {
    for (const Fde& f : frames_.fdes)
      if (!f.made) write_copies(f);
  }
  void write_originals() {
    for (const Fde& f : frames_.fdes)
      if (!f.made) write_original(f);
  }
  // To be called when eh_frame is complete.
  void write_lsdas();

 private:
  static constexpr size_t kNone = SIZE_MAX;
  // A pointer in an FDE, to be filled in when its LSDA has a place.
  struct PendingLsda {
    size_t field;  // position in eh_frame
    const Fde* fde;
    PartCopy part;
    std::vector<PlacedRecord> out_of_line;  // empty: it is the part's
  };

  void write_copies(const Fde& fde);
  void write_original(const Fde& fde);
  void write_fde(const Fde& fde, const PartCopy& part);
  void write_out_of_line(const Fde& fde, const PartCopy& part, std::span<const PlacedRecord> records);
  size_t begin_fde(const Fde& fde, const PartCopy& part, NewRange code, std::span<const PlacedRecord> out_of_line);
  size_t cie(size_t index);

  const Image& image_;
  const EhFrame& frames_;
  const CopyMap& copies_;
  const RecordsOf& records_of_;
  const NewAddr at_;
  UnwindTables& tables_;
  std::vector<Found>& found_;
  std::vector<size_t> new_cies_;  // position of the new CIE for each old one, kNone if not written yet
  std::vector<PendingLsda> lsdas_;
};

// For every copy that contains code of the FDE, one new FDE. Usually one copy contains exactly the FDE's range.
void UnwindWriter::write_copies(const Fde& fde) {
  const auto& all = copies_.copies();
  auto copy = std::ranges::upper_bound(all, fde.range.start, {}, [](const RangeCopy& c) { return c.original.end; });
  for (; copy != all.end() && copy->original.start < fde.range.end; ++copy) {
    const OldRange part{std::max(fde.range.start, copy->original.start), std::min(fde.range.end, copy->original.end)};
    write_fde(fde, {part, &*copy});
  }
}

void UnwindWriter::write_original(const Fde& fde) {
  // If we do not understand an FDE, only the old section keeps it.
  if (frames_.cies[fde.cie].unsupported || why_not_movable(image_, frames_, fde, false))
    found_.push_back({unmoved(fde.range.start), unmoved(fde.record)});
  else
    write_fde(fde, {fde.range, nullptr});
}

// Position of the new CIE that stands for frames_.cies[index]. All its pointers are relative to their own place.
size_t UnwindWriter::cie(size_t index) {
  if (new_cies_[index] != kNone) return new_cies_[index];
  const Cie& old = frames_.cies[index];
  Bytes& out = tables_.eh_frame;
  const size_t start = new_cies_[index] = out.size();
  append<uint32_t>(out, 0);  // length
  append<uint32_t>(out, 0);  // a CIE
  append<uint8_t>(out, 1);   // version
  const bool personality = old.personality != OldAddr(), lsda = old.lsda_encoding != DW_EH_PE_omit;
  for (char c : std::string("z") + (personality ? "P" : "") + (lsda ? "L" : "") + "R" + (old.signal_frame ? "S" : ""))
    append(out, c);
  append<uint8_t>(out, 0);
  append_uleb(out, 1);  // code alignment
  append_sleb(out, old.data_alignment);
  append<uint8_t>(out, kRegisterRip);
  append_uleb(out, (personality ? 5u : 0u) + (lsda ? 1u : 0u) + 1u);
  if (personality) {
    append(out, uint8_t(kRelative4 | (old.personality_indirect ? DW_EH_PE_indirect : 0)));
    append_relative_pointer(out, at_, unmoved(old.personality));
  }
  if (lsda) append(out, kRelative4);
  append(out, kRelative4);
  CfaReader program(frames_, old, OldAddr());
  for (CfaInstruction i; program.next(i);) append_bytes(out, i.bytes);
  finish_record(out, start);
  return start;
}

// The beginning of an FDE for `code`, up to its instructions. `out_of_line`: the records that it is for; none: the
// part's copy. Returns the FDE's position in eh_frame.
size_t UnwindWriter::begin_fde(const Fde& fde, const PartCopy& part, NewRange code,
                               std::span<const PlacedRecord> out_of_line) {
  const Cie& old_cie = frames_.cies[fde.cie];
  const size_t cie_at = cie(fde.cie);
  Bytes& out = tables_.eh_frame;
  const size_t start = out.size();
  found_.push_back({code.start, at_ + start});
  append<uint32_t>(out, 0);                    // length
  append(out, uint32_t(out.size() - cie_at));  // way back to the CIE
  append_relative_pointer(out, at_, code.start);
  append(out, uint32_t(distance(code.start, code.end)));
  if (old_cie.lsda_encoding == DW_EH_PE_omit) {
    append_uleb(out, 0);
  } else {
    append_uleb(out, 4);
    if (part.copy && fde.lsda != OldAddr())
      lsdas_.push_back({out.size(), &fde, part, {out_of_line.begin(), out_of_line.end()}});
    append_relative_pointer(out, at_, part.copy ? NewAddr() : unmoved(fde.lsda));
  }
  return start;
}

void UnwindWriter::write_fde(const Fde& fde, const PartCopy& part) {
  std::vector<PlacedRecord> records;
  if (part.copy && records_of_) records = records_of_(*part.copy);
  std::erase_if(records, [&](const PlacedRecord& r) { return !part.part.contains(r.place); });

  const size_t start = begin_fde(fde, part, {part.start(), part.end()}, {});
  RowWriter rows(tables_.eh_frame, frames_, fde, part.start(), part.copy != nullptr, !records.empty());
  // Instructions for rows before the part are kept, and put at its start: together they make the row that is valid
  // there.
  const auto new_address = [&](OldAddr row) { return part.map(row); };
  const NewAddr copy = part.copy ? part.copy->start : NewAddr();
  auto record = records.begin();
  for (; record != records.end() && copy + record->at < part.end(); ++record) {
    rows.write_rows(record->place + 1, new_address);
    for (const StackDepth& d : stack_depths(record->code)) rows.move_stack(copy + record->at + d.at, d.depth);
  }
  rows.write_rows(part.part.end, new_address);
  rows.finish();
  finish_record(tables_.eh_frame, start);

  // Places ascend twice: in what jumps lead to first, and in what full windows need.
  while (record != records.end()) {
    const auto is_own = [&](const PlacedRecord& r) { return frames_.find(r.place) == &fde; };
    const auto first = std::find_if(record, records.end(), is_own);
    record = std::adjacent_find(first, records.end(), [&](const PlacedRecord& r, const PlacedRecord& next) {
      return next.place < r.place || !is_own(next) || next.at != r.at + r.size;
    });
    if (record != records.end()) ++record;
    if (first != record) write_out_of_line(fde, part, {first, record});
  }
}

// One FDE for records, or parts of them, that stand after a copy, one after the other.
void UnwindWriter::write_out_of_line(const Fde& fde, const PartCopy& part, std::span<const PlacedRecord> records) {
  const auto start_of = [&](const PlacedRecord& r) { return part.copy->start + r.at; };
  const NewRange code{start_of(records.front()), start_of(records.back()) + records.back().size};
  const size_t start = begin_fde(fde, part, code, records);
  RowWriter rows(tables_.eh_frame, frames_, fde, code.start, true, true);
  for (const PlacedRecord& r : records) {
    const NewAddr at = start_of(r);
    if (rows.has_rows_before(r.place + 1)) {
      rows.move_stack(at, 0);
      rows.write_rows(r.place + 1, [&](OldAddr) { return at; });
    }
    if (!r.is_full_window) rows.move_stack(at, 0);
    for (const StackDepth& d : r.is_full_window ? stack_depths_of_full_window(r.code) : stack_depths(r.code))
      rows.move_stack(at + d.at, d.depth);
  }
  rows.finish();
  finish_record(tables_.eh_frame, start);
}

void UnwindWriter::write_lsdas() {
  const NewAddr base = aligned(at_ + tables_.eh_frame.size());
  for (const PendingLsda& p : lsdas_) {
    auto lsda = read_lsda(image_, frames_, *p.fde);
    if (!lsda) throw internal_error("a function with an unknown exception table was copied");
    tables_.except_table.resize(align_up(tables_.except_table.size(), 4));
    const NewAddr place = base + tables_.except_table.size();
    if (p.out_of_line.empty())
      append_lsda(tables_.except_table, base, *lsda, p.part, copies_);
    else
      append_lsda(tables_.except_table, base, *lsda, *p.part.copy, p.out_of_line, copies_);
    put(tables_.eh_frame, p.field, distance(at_ + p.field, place));
  }
}

// One FDE for all of it, with a CIE of its own. `at`: of tables.eh_frame.
void write_frameless(FramelessCode code, NewAddr at, UnwindTables& tables, std::vector<Found>& found) {
  Bytes& out = tables.eh_frame;
  const size_t cie = out.size();
  append<uint32_t>(out, 0);  // length
  append<uint32_t>(out, 0);  // a CIE
  append<uint8_t>(out, 1);   // version
  for (char c : {'z', 'R', '\0'}) append(out, c);
  append_uleb(out, 1);   // code alignment
  append_sleb(out, -8);  // data alignment
  append<uint8_t>(out, kRegisterRip);
  append_uleb(out, 1);
  append(out, kRelative4);
  append<uint8_t>(out, DW_CFA_def_cfa);
  append_uleb(out, kRegisterRsp);
  append_uleb(out, 8);
  append(out, uint8_t(DW_CFA_offset | kRegisterRip));
  append_uleb(out, 1);  // at CFA-8
  finish_record(out, cie);

  const size_t fde = out.size();
  found.push_back({code.start, at + fde});
  append<uint32_t>(out, 0);                 // length
  append(out, uint32_t(out.size() - cie));  // way back to the CIE
  append_relative_pointer(out, at, code.start);
  append(out, uint32_t(code.size));
  append_uleb(out, 0);
  finish_record(out, fde);
}

void write_header(UnwindTables& tables, std::vector<Found> found, NewAddr at) {
  std::ranges::stable_sort(found, {}, &Found::function);
  const NewAddr base = unwind_places(tables, at).eh_frame_hdr;
  Bytes& out = tables.eh_frame_hdr;
  out.reserve(12 + 8 * found.size());
  append<uint8_t>(out, 1);  // version
  append(out, kRelative4);  // of the pointer to .eh_frame, of the count, and of the table
  append<uint8_t>(out, DW_EH_PE_udata4);
  append<uint8_t>(out, DW_EH_PE_datarel | DW_EH_PE_sdata4);
  append_relative_pointer(out, base, at);
  append(out, uint32_t(found.size()));
  for (const Found& f : found) {
    append(out, distance(base, f.function));
    append(out, distance(base, f.fde));
  }
}

// Why the copies of an FDE's range would lack unwind information.
std::optional<Reason> why_not(const Image& image, const EhFrame& frames, const Fde& fde) {
  const Cie& cie = frames.cies[fde.cie];
  if (cie.unsupported) return cie.unsupported;
  if (cie.signal_frame) return ReasonCode::signal_frame;
  if (const auto why = why_not_movable(image, frames, fde, true)) return why;
  if (fde.lsda != OldAddr() && !read_lsda(image, frames, fde)) return ReasonCode::exception_table_not_understood;
  return std::nullopt;
}

}  // namespace

std::optional<Reason> why_not_rewritable(const Image& image, const EhFrame& frames, OldRange range) {
  for (size_t i = frames.first_reaching(range.start); i < frames.fdes.size(); ++i) {
    const Fde& fde = frames.fdes[i];
    if (fde.range.start >= range.end) break;
    if (fde.range.end <= range.start) continue;
    if (const auto why = why_not(image, frames, fde)) return why;
  }
  return std::nullopt;
}

UnwindTables write_unwind(const Image& image, const EhFrame& frames, const CopyMap& copies, const AddedCode* added,
                          NewAddr at, FramelessCode frameless, const RecordsOf& records_of) {
  constexpr size_t kUsualSize = 64;  // of an FDE
  UnwindTables tables;
  std::vector<Found> found;
  tables.eh_frame.reserve(2 * kUsualSize * frames.fdes.size());
  UnwindWriter writer(image, frames, copies, records_of, at, tables, found);
  writer.write_copies();
  writer.write_originals();
  if (added) UnwindWriter(*added->image, added->frames, added->copies, {}, at, tables, found).write_copies();
  if (frameless.size != 0) write_frameless(frameless, at, tables, found);
  append<uint32_t>(tables.eh_frame, 0);  // terminator
  writer.write_lsdas();
  write_header(tables, std::move(found), at);
  return tables;
}

UnwindPlaces unwind_places(const UnwindTables& tables, NewAddr at) {
  UnwindPlaces p;
  p.eh_frame = at;
  p.except_table = aligned(p.eh_frame + tables.eh_frame.size());
  p.eh_frame_hdr = aligned(p.except_table + tables.except_table.size());
  p.end = p.eh_frame_hdr + tables.eh_frame_hdr.size();
  return p;
}

}  // namespace profld
