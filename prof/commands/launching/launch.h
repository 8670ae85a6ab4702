// Starts programs for prof run, and ends as they do.
//
// While the program runs, this process only waits. Others should see the two as one process. A key on the terminal
// (Ctrl-C) sends its signal to both: the program decides what it means, this process waits on. A signal that somebody
// sent to this process alone (kill, timeout) is handed on to the program. At the end this process ends as the program
// did, by the same exit status or the same signal.

#ifndef PROF_COMMANDS_LAUNCHING_LAUNCH_H
#define PROF_COMMANDS_LAUNCHING_LAUNCH_H

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace prof {

// The path of a program, which is searched for like a command of the shell; where there is a script of pyenv, rbenv or
// the like, which chooses a version, the program of that version. Throws Error if there is none, or if it is a script:
// that is run by its interpreter, which is the program to profile.
std::string find_program(const std::string& name);

struct Launch {
  std::string program;                 // path
  std::vector<std::string> arguments;  // the first is the program's name
  // Descriptors that it has as 0, 1 and 2; -1: this process's own.
  int input = -1, output = -1, error = -1;
  std::vector<std::pair<std::string, std::string>> environment = {};  // set for it
  std::vector<std::string> not_in_environment = {};
};

// What goes on beside the program.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // Called when the process is there and before it becomes the program. If it throws, the program is not started.
  virtual void begin(pid_t process) = 0;
  // Called when the program has been started; returns when it has ended, without waiting for it by waitpid.
  virtual void watch(pid_t process) = 0;
};

struct Child {
  pid_t pid = 0;
  uint64_t start_time = 0;                  // as in a profile's header; 0 if unknown
  int status = 0;                           // of waitpid
  uint64_t user_time = 0, system_time = 0;  // nanoseconds, with those of its children that it waited for
  bool was_signalled = false;               // a signal came, to this process or from the terminal, while it ran
};

// Starts the program and waits for it. Throws Error if no process can be made, and what the watcher throws.
Child run_to_the_end(const Launch& launch, Watcher* watcher = nullptr);

// The profile that the program left in a directory; "" if there is none. One of an earlier process with its number does
// not count.
std::string profile_of(const Child& child, const std::string& directory);

// The same with those of the processes that it forked, of the same program: its own first.
std::vector<std::string> profiles_of(const Child& child, const std::string& directory);

// Where this process's children leave their profiles.
std::string profile_directory();

// How a program ended, by its status of waitpid: "ended with status 1", "was killed by signal 9".
std::string how_ended(int status);

// Ends this process as the program ended: kills it by the same signal, or returns the exit status.
int end_like(int status);

}  // namespace prof

#endif
