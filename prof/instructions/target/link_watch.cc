#include "link_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace prof::target {

namespace {

constexpr char kInterrupt = 3;

volatile sig_atomic_t link_descriptor = -1, traced_program = 0;

// All that it calls may be called in a handler.
void on_input(int) {
  const int saved = errno;
  char byte = 0;
  const ssize_t n = recv(link_descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) _exit(1);
  if (n == 1 && byte == kInterrupt) ptrace(PTRACE_INTERRUPT, pid_t(traced_program), nullptr, nullptr);
  errno = saved;
}

}  // namespace

void watch_link(int socket, pid_t program) {
  link_descriptor = socket;
  traced_program = program;
  struct sigaction action = {};
  action.sa_handler = on_input;
  action.sa_flags = SA_RESTART;
  sigaction(SIGIO, &action, nullptr);
  fcntl(socket, F_SETOWN, getpid());
  const int flags = fcntl(socket, F_GETFL);
  fcntl(socket, F_SETFL, flags | O_ASYNC);
  on_input(SIGIO);  // it may have happened before
}

void end_watch() { signal(SIGIO, SIG_IGN); }

}  // namespace prof::target
