// Which memory of a process nobody else uses, while its only thread is stopped.
//
// Memory that others see has to be read and written as the processor does it: a word at once, and at that moment. proftarget cannot
// do so for the program. Shared are mappings that the kernel says are (/proc/PID/maps), and all memory of a process whose other
// threads run. The first change only with system calls, and are looked at anew behind those that may have changed them.
//
// Some system calls make memory, or control, something that proftarget does not understand well enough: keys that protect memory,
// faults that the program handles by itself, stacks that the processor checks returns against, processes that share all memory. A
// program that makes one of them is only stepped from there on.

#ifndef PROF_TARGET_PRIVATE_MEMORY_H
#define PROF_TARGET_PRIVATE_MEMORY_H

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace prof::target {

class PrivateMemory {
 public:
  // Whether a page can be seen by other processes, as the kernel told last.
  bool is_private(uint64_t address) const;
  // Is to be called before is_private, when the process is stopped.
  void look(pid_t process);
  // A system call has returned.
  void on_call(const user_regs_struct& before);
  // All memory is another.
  void forget() { is_stale_ = true; }

 private:
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  void read_maps(std::string_view text);

  std::vector<Range> shared_;
  bool is_stale_ = true;
};

// Whether a thread is about to make a system call that makes its process, or one that it makes, one to be only stepped.
// `has_others`: the process has other threads.
bool is_beyond_running(pid_t thread, const user_regs_struct& before, std::string_view code, bool has_others);

}  // namespace prof::target

#endif
