// Writes the rows of an FDE anew, for code that stands elsewhere: a copy of its code, or code that stands for single places
// of it. In between, records may have moved the stack pointer (register_rules.h).

#ifndef LINKER_REWRITE_UNWIND_ROW_WRITER_H
#define LINKER_REWRITE_UNWIND_ROW_WRITER_H

#include <functional>
#include <optional>

#include "register_rules.h"

namespace profld {

class RowWriter {
 public:
  // Appends instructions to `out` that begin at the address `start`. `calls_hooks`: what lies below the return address of a
  // frame that has been given up may be overwritten. `has_records`: move_stack will be called.
  RowWriter(Bytes& out, const EhFrame& frames, const Fde& fde, NewAddr start, bool calls_hooks, bool has_records);

  // Writes the instructions for the rows that begin before `end`, as far as they are not written, each for the address
  // new_address(row). These ascend; rows that begin at the same address make one.
  void write_rows(OldAddr end, const std::function<NewAddr(OldAddr)>& new_address);
  bool has_rows_before(OldAddr end) const { return has_next_ && next_.location < end; }

  // From the address `at` on, the stack pointer is `depth` bytes lower than the rows say. Rows are only written where it is
  // 0 lower.
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

}  // namespace profld

#endif
