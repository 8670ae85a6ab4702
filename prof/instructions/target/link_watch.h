// Notices that the other end of the link asks to stop the program, or is gone, also while this process waits for the program.

#ifndef PROF_INSTRUCTIONS_TARGET_LINK_WATCH_H
#define PROF_INSTRUCTIONS_TARGET_LINK_WATCH_H

#include <sys/types.h>

namespace prof::target {

// From now on: when the link breaks, this process ends, and with it the program that it traces; when the other end sends the
// byte 0x03, the thread `program` stops (PTRACE_INTERRUPT). `socket`: the link.
void watch_link(int socket, pid_t program);

// The program has ended. The other end may go as soon as it knows that.
void end_watch();

}  // namespace prof::target

#endif
