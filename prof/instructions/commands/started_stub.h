// Starts what steps a program, proftarget or gdbserver, with a link to it.

#ifndef PROF_INSTRUCTIONS_COMMANDS_STARTED_STUB_H
#define PROF_INSTRUCTIONS_COMMANDS_STARTED_STUB_H

#include <sys/types.h>

#include <string>
#include <vector>

namespace prof {

class StartedStub {
 public:
  // proftarget, from beside prof or from PATH. `options`: for it. Its program has this process's standard input and outputs.
  static StartedStub proftarget(const std::vector<std::string>& options, const std::vector<std::string>& program);
  // gdbserver, from PATH. What it says itself is kept.
  static StartedStub gdbserver(const std::vector<std::string>& program);

  StartedStub(StartedStub&& other) noexcept;
  StartedStub(const StartedStub&) = delete;
  ~StartedStub() { wait(); }

  // This end of the link, which the caller closes.
  int descriptor() const { return descriptor_; }

  // Waits for its end, and returns its status of waitpid. The link must be closed, or it must be about to end.
  int wait();

  // What it said, if that is kept: the last line.
  std::string last_words() const;

 private:
  StartedStub() = default;

  pid_t process_ = 0;
  int descriptor_ = -1, messages_ = -1, status_ = 0;
};

}  // namespace prof

#endif
