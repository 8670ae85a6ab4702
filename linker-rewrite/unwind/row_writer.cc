#include "row_writer.h"

#include <algorithm>

namespace profld {

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
  if (!rules_) throw Error("internal error: a record where none was expected");
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

// Nothing to do if the row has begun. An instruction of the original that is only one in the copy with what stands before
// it may have a row that begins inside.
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

}  // namespace profld
