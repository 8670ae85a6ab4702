// The side of the GDB remote protocol that has the program: answers gdb, and prof trace. It knows the threads of the
// program that have stopped, and watches the link while the program runs.
//
// Beside what gdb needs there are packets of our own, which qSupported announces as prof.records+:
//
//   qProf.command               PID:WORDS, the number of the process, and its command line in hexadecimal, a zero after
//                               each word
//   QProf:buffer=SIZE;forks=F;blocks=B;each=E
//                               how vProf steps: bytes of records to a packet; 1 to follow forks; 1 to run what always
//                               runs as a whole at once; 1 to have the program itself run each instruction; OK
//   vProf                       steps the program to its end. Packets of records (prof/instructions/remote/records.h)
//                               come one after the other, and then the answer to a program that has ended, W or X.
//                               After a request to stop (0x03) the program goes on without being stepped.

#ifndef PROF_INSTRUCTIONS_TARGET_SERVER_H
#define PROF_INSTRUCTIONS_TARGET_SERVER_H

#include <signal.h>
#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "prof/instructions/remote/packet.h"
#include "stepper.h"

namespace prof::target {

// The threads of a program that a debugger has stopped: all of them, or none.
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

  // Lets threads go on until one of them stops, and stops the others. `steps`: only this thread goes on, for one step;
  // 0: all. `signal`: is delivered to the thread `to` as soon as that goes on, which may be later: what another thread
  // stopped for meanwhile is told first.
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

// Notices that the other end of the link asks to stop the program, or is gone, also while this process waits for the
// program.

// From now on: when the link breaks, this process ends, and with it the program that it traces; when the other end
// sends the byte 0x03, the thread `program` stops (PTRACE_INTERRUPT). `socket`: the link.
void watch_link(int socket, pid_t program);

// The program has ended. The other end may go as soon as it knows that.
void end_watch();

class Server {
 public:
  // `program`: was started, and is stopped.
  Server(remote::Connection& connection, pid_t program)
      : connection_(connection), threads_(program), thread_(program) {}

  // Answers until the program has ended, was let go, or the link is broken.
  void serve();

 private:
  std::string answer(std::string_view packet);
  std::string query(std::string_view packet);
  std::string set(std::string_view packet);
  std::string verbose(std::string_view packet);
  std::string choose_thread(std::string_view packet);
  std::string registers();
  std::string set_registers(std::string_view digits);
  std::string memory(std::string_view packet);
  std::string set_memory(std::string_view packet, bool is_binary);
  std::string resume(pid_t steps, pid_t to, int signal);
  std::string record();
  std::string last_stop() const;

  remote::Connection& connection_;
  StoppedThreads threads_;
  StepSettings settings_;
  pid_t thread_;          // that packets speak of
  int signal_ = SIGTRAP;  // that stopped it
  std::string end_;       // the answer to a program that has ended
  bool is_over_ = false;
};

}  // namespace prof::target

#endif
