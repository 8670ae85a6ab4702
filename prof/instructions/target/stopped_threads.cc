#include "stopped_threads.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <utility>

#include "tracee.h"

namespace prof::target {

std::vector<pid_t> StoppedThreads::numbers() const {
  std::vector<pid_t> all;
  all.reserve(threads_.size());
  for (const auto& [number, status] : threads_) all.push_back(number);
  return all;
}

// Fills `stop` and returns true if a debugger wants to know. Else the thread goes on.
bool StoppedThreads::is_of_interest(pid_t thread, int status, Stop& stop) {
  stop.thread = thread;
  if (WIFEXITED(status) || WIFSIGNALED(status)) {
    threads_.erase(thread);
    signals_.erase(thread);
    stop.has_ended = thread == program_;
    stop.status = status;
    return stop.has_ended;
  }
  const int event = status >> 16;
  if (!has(thread)) {  // was just made
    if (process_of(thread) != program_) {
      ptrace(PTRACE_DETACH, thread, nullptr, 0L);
      return false;
    }
    threads_[thread];
  }
  stop.signal = WSTOPSIG(status);
  if (event == PTRACE_EVENT_STOP && stop.signal == SIGTRAP) {
    stop.signal = SIGINT;
    return thread == program_;  // it was asked to; a thread that was just made stops like that, too
  }
  return event == 0;
}

void StoppedThreads::stop_others(pid_t stopped) {
  for (auto& [number, status] : threads_) {
    if (number == stopped || status) continue;
    if (ptrace(PTRACE_INTERRUPT, number, nullptr, nullptr) != 0) continue;
    int got = 0;
    if (waitpid(number, &got, __WALL) != number) continue;
    const bool was_asked = WIFSTOPPED(got) && got >> 16 == PTRACE_EVENT_STOP;
    if (!was_asked) status = got;
  }
}

void StoppedThreads::go_on(pid_t thread, bool is_step) {
  const auto signal = signals_.extract(thread);
  ptrace(is_step ? PTRACE_SINGLESTEP : PTRACE_CONT, thread, nullptr, signal ? long(signal.mapped()) : 0L);
}

StoppedThreads::Stop StoppedThreads::resume(pid_t steps, pid_t to, int signal) {
  Stop stop;
  if (signal != 0 && has(to)) signals_[to] = signal;
  const auto goes_on = [steps](pid_t thread) { return steps == 0 || thread == steps; };
  for (const pid_t number : numbers()) {  // what happened together with the last stop comes first
    const auto found = threads_.find(number);
    if (found == threads_.end() || !found->second || !goes_on(number)) continue;
    const int got = *std::exchange(found->second, std::nullopt);
    if (is_of_interest(number, got, stop)) return stop;
  }
  for (const auto& [number, status] : threads_) {
    if (goes_on(number)) go_on(number, steps != 0);
  }
  for (;;) {
    int status = 0;
    const pid_t number = waitpid(-1, &status, __WALL);
    if (number < 0 && errno == EINTR) continue;
    if (number < 0) {
      stop.has_ended = true;
      return stop;
    }
    if (is_of_interest(number, status, stop)) break;
    if (has(number)) ptrace(steps == number ? PTRACE_SINGLESTEP : PTRACE_CONT, number, nullptr, 0L);
  }
  if (!stop.has_ended && steps == 0) stop_others(stop.thread);
  return stop;
}

void StoppedThreads::detach() {
  for (const auto& [number, status] : threads_) {
    const bool has_signal = status && WIFSTOPPED(*status) && *status >> 16 == 0 && WSTOPSIG(*status) != SIGTRAP;
    ptrace(PTRACE_DETACH, number, nullptr, has_signal ? long(WSTOPSIG(*status)) : 0L);
  }
}

}  // namespace prof::target
