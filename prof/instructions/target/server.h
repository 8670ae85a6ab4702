// The side of the GDB remote protocol that has the program: answers gdb, and prof trace. It knows the
// threads of the program that have stopped, and watches the link while the program runs.
//
// Beside what gdb needs there are packets of our own, which qSupported announces as prof.records+:
//
//   qProf.command               PID:WORDS, the number of the process, and its command line in hexadecimal, a zero after
//                               each word
//   QProf:buffer=SIZE;forks=F;blocks=B;each=E
//                               how vProf steps: bytes of records to a packet; 1 to follow forks; 1 to run what always runs as
//                               a whole at once; 1 to have the program itself run each instruction; OK
//   vProf                       steps the program to its end. Packets of records (prof/instructions/remote/records.h) come one after the
//                               other, and then the answer to a program that has ended, W or X. After a request to stop
//                               (0x03) the program goes on without being stepped.

#ifndef PROF_INSTRUCTIONS_TARGET_SERVER_H
#define PROF_INSTRUCTIONS_TARGET_SERVER_H

#include <signal.h>

#include <string>
#include <string_view>

#include "prof/instructions/remote/connection.h"
#include "stepper.h"
#include "stopped_threads.h"

namespace prof::target {

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
