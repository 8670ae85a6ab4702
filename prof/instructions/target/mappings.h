// What may be done with which memory of a stopped process, by the kernel's account (/proc/PID/maps).
//
// Memory that others see has to be read and written as the processor does it: a word at once, and at that moment. proftarget cannot
// do so for the program. Shared are mappings that the kernel says are, and all memory of a process whose other threads run.
//
// Code may be run only where the kernel lets it be run; memory that can be read is not enough. A program may count on the fault.
//
// Mappings change only with system calls, and are looked at anew after those that may have changed what is asked for here.

#ifndef PROF_INSTRUCTIONS_TARGET_MAPPINGS_H
#define PROF_INSTRUCTIONS_TARGET_MAPPINGS_H

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace prof::target {

class Mappings {
 public:
  // Whether no other process can see a page, as the kernel told last.
  bool is_private(uint64_t address) const;
  // Whether code there may be run. What has become code since may be missing.
  bool is_code(uint64_t address) const;
  // Is to be called before those, when a thread of the process is stopped.
  void look(pid_t thread);
  // A system call has returned.
  void on_call(const user_regs_struct& before);
  // All memory is another.
  void forget() { is_stale_ = true; }

 private:
  struct Range {
    uint64_t begin = 0, end = 0;
  };
  void read_maps(std::string_view text);
  bool leaves(const user_regs_struct& before) const;
  bool has_code(uint64_t begin, uint64_t size) const;

  std::vector<Range> shared_, code_;
  bool is_stale_ = true;
};

}  // namespace prof::target

#endif
