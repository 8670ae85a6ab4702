// System calls after which a program is only stepped.
//
// Some make memory, or control, something that proftarget does not understand well enough to run instructions for the
// program: keys that protect memory, faults that the program handles by itself, stacks that the processor checks
// returns against, processes that share all memory, rings in private memory that the kernel reads and writes at any
// time, and counters and watchpoints of the processor, which are for what the thread runs itself.

#ifndef PROF_INSTRUCTIONS_TARGET_ONLY_STEPPED_H
#define PROF_INSTRUCTIONS_TARGET_ONLY_STEPPED_H

#include <sys/types.h>
#include <sys/user.h>

#include <string_view>

namespace prof::target {

// Whether a thread is about to make a system call that makes its process, or one that it makes, one to be only stepped.
// `has_others`: the process has other threads.
bool is_beyond_running(pid_t thread, const user_regs_struct& before, std::string_view code, bool has_others);

}  // namespace prof::target

#endif
