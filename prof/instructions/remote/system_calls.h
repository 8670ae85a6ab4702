// Which memory of the program a system call reads and writes.
//
// A table says for each call which of its arguments point to memory, in which direction, and how much there is: a fixed
// size, as many bytes as another argument or the result says, a string, or buffers that a list in memory names (readv).
// What has to be looked up in memory is looked up before the call, which may overwrite it. A call that the table does
// not have touches nothing that is known: ioctl, prctl and others whose arguments mean many things.

#ifndef PROF_INSTRUCTIONS_REMOTE_SYSTEM_CALLS_H
#define PROF_INSTRUCTIONS_REMOTE_SYSTEM_CALLS_H

#include <sys/syscall.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "registers.h"

namespace prof::remote {

// The memory of the program: up to `size` bytes at `address`, as many as can be read.
using MemorySource = std::function<std::string(uint64_t address, size_t size)>;

// Whether this code is the instruction syscall.
inline bool is_system_call(std::string_view code) { return code.starts_with("\x0f\x05"); }

// Whether a system call with this result was interrupted by a signal, before the kernel has decided what the program
// sees of that (include/linux/errno.h of the kernel).
inline bool is_interrupted(uint64_t result) {
  const auto error = int64_t(result);
  return error == -512 || error == -513 || error == -514 || error == -516;
}

// The number of the system call that begins if it goes on after that.
inline uint64_t restarted_call(uint64_t result, uint64_t number) {
  return int64_t(result) == -516 ? SYS_restart_syscall : number;
}

class SystemCall {
 public:
  // Before the instruction runs.
  SystemCall(const Registers& before, const MemorySource& memory);
  uint64_t number() const { return number_; }
  // The values of kEventSystemCall (libprof/format/trace.h): number, result, and three for each range.
  std::vector<uint64_t> event(uint64_t result) const;

 private:
  struct Range {
    uint64_t address = 0, size = 0;
    bool is_write = false;
    uint64_t unit = 0;        // not 0: the size is the result times this
    bool is_in_list = false;  // of buffers, which the result fills one after the other
  };
  void add_list(uint64_t address, uint64_t count, bool is_write, const MemorySource& memory);

  uint64_t number_ = 0;
  std::vector<Range> ranges_;
};

}  // namespace prof::remote

#endif
