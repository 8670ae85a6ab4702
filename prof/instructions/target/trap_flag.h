// The trap flag, because of which the processor stops after an instruction.
//
// The kernel sets it for each step, and sees to it that nobody takes it for the program's own. But an instruction that pushes the
// flags pushes it, too. And after one that pops them the kernel takes it for the program's: it would be seen in what a handler of a
// signal is given, and would kill the program, or a process that it makes, when that goes on by itself. So what was pushed is
// corrected, what a handler is given as well, and only what an instruction has popped is the program's.

#ifndef PROF_INSTRUCTIONS_TARGET_TRAP_FLAG_H
#define PROF_INSTRUCTIONS_TARGET_TRAP_FLAG_H

#include <sys/types.h>
#include <sys/user.h>

#include <string_view>

namespace prof::target {

class TrapFlag {
 public:
  // Whether it belongs to the program.
  bool is_own() const { return is_own_; }
  // Registers have been read: it is taken out of them if it is not the program's.
  void on_registers(user_regs_struct& registers);
  // It was set, and not by the program; unless registers without it are set, the kernel does not know that.
  bool is_loose() const { return is_loose_; }
  void on_registers_set() { is_loose_ = false; }
  // The thread has run this instruction, and is stopped after it.
  void on_step(pid_t thread, std::string_view code);
  // The thread is stopped at the first instruction of a handler.
  void on_handler(pid_t thread) const;
  void forget() { is_own_ = is_loose_ = false; }

 private:
  bool is_own_ = false, is_loose_ = false;
};

// The thread is about to go on by itself.
void take_trap_flag_from(pid_t thread);

}  // namespace prof::target

#endif
