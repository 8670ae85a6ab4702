// The threads of a program that a debugger has stopped: all of them, or none.

#ifndef PROF_INSTRUCTIONS_TARGET_STOPPED_THREADS_H
#define PROF_INSTRUCTIONS_TARGET_STOPPED_THREADS_H

#include <sys/types.h>

#include <map>
#include <optional>
#include <vector>

namespace prof::target {

class StoppedThreads {
 public:
  // `program`: a process that is stopped, with one thread.
  explicit StoppedThreads(pid_t program) : program_(program) { threads_[program]; }

  pid_t program() const { return program_; }
  std::vector<pid_t> numbers() const;
  bool has(pid_t thread) const { return threads_.contains(thread); }

  struct Stop {
    pid_t thread = 0;
    bool has_ended = false;  // the program, with this status of waitpid
    int status = 0;
    int signal = 0;  // that stopped it; 0: it was to stop
  };

  // Lets threads go on until one of them stops, and stops the others. `steps`: only this thread goes on, for one step; 0:
  // all. `signal`: is delivered to the thread `to` as soon as that goes on, which may be later: what another thread stopped for
  // meanwhile is told first.
  Stop resume(pid_t steps, pid_t to, int signal);

  // Lets all of them go on by themselves.
  void detach();

 private:
  void stop_others(pid_t thread);
  void go_on(pid_t thread, bool is_step);
  bool is_of_interest(pid_t thread, int status, Stop& stop);

  const pid_t program_;
  std::map<pid_t, std::optional<int>> threads_;  // with the status of a stop that was not told yet
  std::map<pid_t, int> signals_;                 // that reach a thread when it goes on
};

}  // namespace prof::target

#endif
