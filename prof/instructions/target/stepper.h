// Steps a program by itself, and sends what it did as records (prof/instructions/remote/records.h), a buffer at a time.
//
// A thread that is stopped says what it is about to do: its registers, and the bytes at its instruction pointer. When
// it has stopped the next time, the way it stopped tells whether it did that: a trap of the processor, or the end of a
// system call, means yes; a signal that waits to be delivered, or a handler that is about to begin, means no. Only what
// was done is recorded. So the count of instructions is exact whatever signals come.
//
// The bytes of each instruction are read before each step: the program may have changed them.
//
// With `blocks` what always runs as a whole (straight_code.h) runs up to a breakpoint of the processor, which changes
// neither the program's code nor other threads. When the thread stops anywhere in there, for a signal perhaps, the
// instruction that it is at tells how many have run. Registers in between are not known, and so none are recorded.
//
// Most instructions need no stop: they are run here, by plain_code.h, from where a thread has stopped to the next
// instruction that has to be the thread's own. They are recorded as those are, with their registers and with memory as
// it is. No instruction is run so while the kernel may have something in hand with the thread: a signal to deliver, a
// system call to make again, an event to tell. So the first instruction after a system call, and of a handler, is
// always the thread's own: the kernel delivers before it what the call has sent, or let through. With blocks, a stretch
// then begins at an instruction that has to be the thread's own, and what lies after it runs along up to the next jump:
// one stop for all of them, where they would be some.
//
// All threads are stepped side by side, each when it has stopped. They are on one processor, so which of them goes on
// is the kernel's choice as ever.

#ifndef PROF_INSTRUCTIONS_TARGET_STEPPER_H
#define PROF_INSTRUCTIONS_TARGET_STEPPER_H

#include <signal.h>
#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "memory.h"
#include "plain_code.h"
#include "prof/instructions/remote/packet.h"
#include "prof/instructions/remote/records.h"
#include "prof/instructions/remote/system_calls.h"
#include "straight_code.h"
#include "tracee.h"

namespace prof::target {

// The trap flag, because of which the processor stops after an instruction.
//
// The kernel sets it for each step, and sees to it that nobody takes it for the program's own. But an instruction that
// pushes the flags pushes it, too. And after one that pops them the kernel takes it for the program's: it would be seen
// in what a handler of a signal is given, and would kill the program, or a process that it makes, when that goes on by
// itself. So what was pushed is corrected, what a handler is given as well, and only what an instruction has popped is
// the program's.
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

struct StepSettings {
  size_t buffer = 0;           // bytes of records that are gathered before they are sent; 0: each step is sent
  bool follows_forks = false;  // processes that the program makes are stepped, too; else they go on by themselves
  bool by_blocks = false;      // only which instructions ran is recorded
  bool steps_each = false;     // the processor stops after each instruction, or at the end of a stretch
};

class Stepper {
 public:
  Stepper(remote::Connection& connection, const StepSettings& settings)
      : connection_(connection),
        settings_(settings),
        runs_plain_(!settings.steps_each),
        has_breakpoints_(settings.by_blocks && has_breakpoints()) {}

  // Takes a thread that is stopped.
  void take(pid_t thread);

  // Steps until all threads have ended, or the link is broken. When the other side asks to stop, the program goes on
  // without being stepped, and its end is waited for. Returns the status of waitpid of the process `program`.
  int run(pid_t program);

 private:
  struct Code {
    std::array<char, remote::kLongestInstruction> bytes;
    uint8_t size;
  };
  struct Process {
    std::unordered_map<uint64_t, Code> code;  // as it was told
    std::string definitions;                  // not sent yet
    StraightCode straight;
    PlainCode plain;
    Mappings mappings;
  };
  class Recorder;
  struct Thread {
    pid_t number = 0, process = 0;
    remote::RecordWriter records;
    user_regs_struct raw = {};                // its registers, as it is stopped
    std::string_view code;                    // what it is about to run; of Process::code
    std::optional<remote::SystemCall> call;   // if that is a system call
    std::optional<user_regs_struct> restart;  // after a system call that was interrupted: the kernel may make it again
    TrapFlag trap_flag;
    bool is_known = false;                         // raw, code and call are what it is about to do
    std::optional<StraightCode::Stretch> stretch;  // that it runs
    bool has_breakpoint = false;                   // it can have one
    uint64_t breakpoint = 0;                       // where that is
  };

  void on_status(pid_t number, int status);
  void on_event(Thread& thread, int event);
  // The event that made it has been told, or its first stop: one of the two, or now the other as well.
  void tell_half(pid_t number);
  void on_trap(Thread& thread);
  void on_end(Thread& thread, int status);

  bool look(Thread& thread);  // reads what it is about to do; false if it is gone
  bool read_registers(Thread& thread);
  void look_at_code(Thread& thread);  // the same, where its registers have been read
  const Code& define(Process& process, uint64_t address, std::string_view bytes);
  void record(Thread& thread);          // it did what it was about to do
  void record_call(Thread& thread);     // a system call has returned
  void record_restart(Thread& thread);  // the one that was interrupted was made again
  void send_if_full(Thread& thread);
  void resume(Thread& thread, int signal);
  void go_on(Thread& thread);                   // the same where it has run an instruction that was no system call
  void run_plain(Thread& thread);               // advances it, here
  bool has_others(const Thread& thread) const;  // its process has more threads
  void tell_maps(Thread& thread);
  void record_step(Thread& thread);
  bool run_stretch(Thread& thread);     // lets it run up to a breakpoint; false if that cannot be
  void record_stretch(Thread& thread);  // as far as it has run
  bool is_unchanged(const Thread& thread, const StraightCode::Stretch& stretch) const;
  bool set_breakpoint(Thread& thread, uint64_t address) const;
  void send(Thread& thread);
  void send_all();
  void let_go(pid_t stopped);

  remote::Connection& connection_;
  const StepSettings settings_;
  bool runs_plain_;
  const bool has_breakpoints_;  // else blocks are stepped, too
  BatchMemory batch_;
  std::map<pid_t, std::unique_ptr<Thread>> threads_;
  // Made, but not in threads_ yet, or the other way round. The one that made it may end before its first stop is told.
  std::set<pid_t> half_told_;
  std::map<pid_t, Process> processes_;
  pid_t program_ = 0;
  int status_ = 0;
};

}  // namespace prof::target

#endif
