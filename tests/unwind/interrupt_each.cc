// interrupt_each PROGRAM: runs PROGRAM, which goes again and again through code between two breakpoint instructions of its
// own, and sends it SIGUSR1 there: the first time before the first instruction, then before the second one, and so on. Then
// the same for code that runs only when the window of a trace is full (libprof/trace/trace.cc): each record in turn finds it so,
// and each instruction from there to the next record is interrupted. Then there is no signal two times in a row, and if the
// program goes on, from other breakpoints, all begins anew. Exits as the program does, or with 1 if a signal kills it.
//
// The runtime, which that code calls through a word, is no code of the program's: it is not interrupted.

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../programs/one_processor.h"

namespace {

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "interrupt_each: %s\n", what);
  std::exit(2);
}

class Program {
 public:
  explicit Program(char** command) {
    stay_on_one_processor();
    pid_ = fork();
    if (pid_ == 0) {
      ptrace(PTRACE_TRACEME, 0, 0, 0);
      execvp(command[0], command);
      _exit(127);
    }
    wait();  // exec
  }

  // Goes on to the next breakpoint. False if the program ends before it.
  bool to_breakpoint() { return resume(PTRACE_CONT); }
  int status() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 1; }

  // From the breakpoint on, interrupts before the instruction number `at`, counted from 0 on. If `full` is not negative,
  // record number `full` finds its window full, and only what follows its comparison counts. False if there is no such
  // instruction before the next breakpoint, or before the next record.
  bool interrupt(long at, long full) {
    bool counts = full < 0;
    for (long instructions = 0, records = 0;;) {
      const user_regs_struct r = registers();
      const uint64_t code = word(r.rip);
      const bool is_record = compares_with_limit(code);
      if ((code & 0xff) == kBreakpoint || (full >= 0 && counts && is_record)) break;
      if (counts && instructions++ == at) {
        signal_ = SIGUSR1;
        return true;
      }
      if ((code & 0xffff) == kCallThrough)
        run_to(r.rip + kCallThroughLength);
      else
        step();
      if (is_record && records++ == full) {
        counts = true;
        say_not_below();
      }
    }
    to_breakpoint();
    return false;
  }

 private:
  static constexpr unsigned kBreakpoint = 0xcc, kCallThrough = 0x15ff, kCallThroughLength = 6;

  // cmp %gs:limit(%rip), %register
  static bool compares_with_limit(uint64_t code) {
    return (code & 0xff) == 0x65 && (code >> 8 & 0xfb) == 0x48 && (code >> 16 & 0xff) == 0x3b &&
           (code >> 24 & 0xc7) == 0x05;
  }
  void say_not_below() {
    user_regs_struct r = registers();
    r.eflags &= ~uint64_t(1);  // the carry
    set_registers(r);
  }

  void wait() {
    if (waitpid(pid_, &status_, 0) != pid_) die("waitpid");
  }
  // False if the program ended.
  bool resume(__ptrace_request how) {
    for (;;) {
      if (ptrace(how, pid_, 0, signal_) != 0) die("ptrace");
      wait();
      if (!WIFSTOPPED(status_)) return false;
      signal_ = WSTOPSIG(status_) == SIGTRAP ? 0 : WSTOPSIG(status_);
      if (signal_ == 0) return true;
    }
  }
  void run_to(uint64_t at) {
    const uint64_t code = word(at);
    set_word(at, (code & ~uint64_t(0xff)) | kBreakpoint);
    if (!resume(PTRACE_CONT) || registers().rip != at + 1) die("the program does not come back from the runtime");
    set_word(at, code);
    user_regs_struct r = registers();
    r.rip = at;
    set_registers(r);
  }
  void step() {
    if (!resume(PTRACE_SINGLESTEP)) die("the program ended between its breakpoints");
  }
  user_regs_struct registers() const {
    user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, pid_, 0, &r) != 0) die("registers");
    return r;
  }
  void set_registers(const user_regs_struct& r) const {
    if (ptrace(PTRACE_SETREGS, pid_, 0, &r) != 0) die("registers");
  }
  void set_word(uint64_t at, uint64_t value) const {
    if (ptrace(PTRACE_POKEDATA, pid_, at, value) != 0) die("memory");
  }
  uint64_t word(uint64_t at) const { return uint64_t(ptrace(PTRACE_PEEKDATA, pid_, at, 0)); }

  pid_t pid_;
  int status_ = 0;
  int signal_ = 0;  // to be delivered
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) die("usage: interrupt_each program");
  Program program(argv + 1);
  long full = -1, at = 0;
  while (program.to_breakpoint()) {
    if (program.interrupt(at, full)) {
      ++at;
    } else {
      full = full >= 0 && at == 0 ? -1 : full + 1;
      at = 0;
    }
  }
  return program.status();
}
