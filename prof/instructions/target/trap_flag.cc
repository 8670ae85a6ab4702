#include "trap_flag.h"

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "straight_code.h"
#include "tracee.h"

namespace prof::target {

namespace {

constexpr uint64_t kTrapFlag = 0x100;
constexpr uint64_t kFlagsOfHandler = 8 + offsetof(ucontext_t, uc_mcontext.gregs[REG_EFL]);  // after a return address

// It stands in the second byte of the flags.
void correct_pushed(pid_t thread, uint64_t flags) {
  std::string byte = read_memory(thread, flags + 1, 1);
  if (byte.empty() || !(uint8_t(byte[0]) & kTrapFlag >> 8)) return;
  byte[0] = char(uint8_t(byte[0]) & ~uint8_t(kTrapFlag >> 8));
  write_memory(thread, flags + 1, byte);
}

}  // namespace

void TrapFlag::on_registers(user_regs_struct& registers) {
  is_loose_ = !is_own_ && (registers.eflags & kTrapFlag);
  if (is_loose_) registers.eflags &= ~kTrapFlag;
}

void TrapFlag::on_step(pid_t thread, std::string_view code) {
  const bool pushes = pushes_flags(code);
  user_regs_struct now;
  if ((!pushes && !pops_flags(code)) || !get_registers(thread, now)) return;
  if (!pushes)
    is_own_ = (now.eflags & kTrapFlag) != 0;
  else if (!is_own_)
    correct_pushed(thread, now.rsp);
}

void TrapFlag::on_handler(pid_t thread) const {
  user_regs_struct now;
  if (!is_own_ && get_registers(thread, now)) correct_pushed(thread, now.rsp + kFlagsOfHandler);
}

void take_trap_flag_from(pid_t thread) {
  user_regs_struct now;
  if (!get_registers(thread, now) || !(now.eflags & kTrapFlag)) return;
  now.eflags &= ~kTrapFlag;
  set_registers(thread, now);
}

}  // namespace prof::target
