#include "plain_recorder.h"

namespace prof::target {

namespace {

remote::Registers registers_of(const PlainState& from) {
  const auto& r = from.general.registers;
  remote::Registers to = {r[plain_rax], r[plain_rbx], r[plain_rcx], r[plain_rdx], r[plain_rsi], r[plain_rdi],
                          r[plain_rbp], r[plain_rsp], r[8],         r[9],         r[10],        r[11],
                          r[12],        r[13],        r[14],        r[15],        from.at};
  to[remote::reg_flags] = from.general.flags & remote::kDirectionFlag;
  to[remote::reg_fs_base] = from.fs_base;
  to[remote::reg_gs_base] = from.gs_base;
  return to;
}

}  // namespace

void PlainRecorder::found(uint64_t address, std::string_view bytes, size_t size, uint64_t next) {
  finish();  // what ran is told before its code is another
  define(address, bytes);
  if (by_blocks_ && next != 0) learn(address, bytes.substr(0, size), next);
}

void PlainRecorder::ran(const PlainState& before, size_t size) {
  if (!by_blocks_) {
    records_.step(registers_of(before));
    has_recorded();
    return;
  }
  if (size == 0) return;
  if (count_ != 0 && before.at != end_) finish();
  if (count_++ == 0) start_ = before.at;
  end_ = before.at + size;
}

void PlainRecorder::finish() {
  if (count_ == 0) return;
  records_.block(start_, count_);
  count_ = 0;
  has_recorded();
}

}  // namespace prof::target
