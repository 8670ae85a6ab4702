#include "server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "linker-rewrite/text/numbers.h"
#include "prof/instructions/remote/packet.h"
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

namespace {

using remote::take_number;
using remote::take_word;

constexpr char kOk[] = "OK", kFailed[] = "E01", kUnknown[] = "";
// gdb has its own description of the registers of this architecture, which is the one that `g` is read by.
constexpr char kFeatures[] =
    "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\">"
    "<target><architecture>i386:x86-64</architecture><osabi>GNU/Linux</osabi></target>";
constexpr size_t kMaxMemory = 0x8000;  // bytes of memory to a packet
constexpr size_t kGeneral = 17;        // registers of 8 bytes in `g`, the last one the instruction pointer; then
constexpr size_t kShort = 7;           // of 4 bytes: flags, cs, ss, ds, es, fs, gs

std::string byte_text(int value) { return prof_text::hexadecimal_of(std::string(1, char(value))); }

// As it stands after `end`, the first letter of W and X packets.
std::string end_text(int status) {
  return WIFSIGNALED(status) ? "X" + byte_text(remote::to_protocol_signal(WTERMSIG(status)))
                             : "W" + byte_text(WEXITSTATUS(status));
}

template <class T>
void add(std::string& to, T value, size_t size = sizeof(T)) {
  to.append(reinterpret_cast<const char*>(&value), size);
}

std::vector<unsigned long long*> general(user_regs_struct& r) {
  return {&r.rax, &r.rbx, &r.rcx, &r.rdx, &r.rsi, &r.rdi, &r.rbp, &r.rsp, &r.r8,
          &r.r9,  &r.r10, &r.r11, &r.r12, &r.r13, &r.r14, &r.r15, &r.rip};
}

std::vector<unsigned long long*> short_ones(user_regs_struct& r) {
  return {&r.eflags, &r.cs, &r.ss, &r.ds, &r.es, &r.fs, &r.gs};
}

// Registers of the x87 unit and of SSE, in gdb's order.
std::string float_registers(const user_fpregs_struct& f) {
  std::string bytes;
  for (size_t i = 0; i < 8; ++i) bytes.append(reinterpret_cast<const char*>(&f.st_space[i * 4]), 10);
  for (const uint32_t word : {uint32_t(f.cwd), uint32_t(f.swd), uint32_t(f.ftw), uint32_t(f.rip >> 32), uint32_t(f.rip),
                              uint32_t(f.rdp >> 32), uint32_t(f.rdp), uint32_t(f.fop)})
    add(bytes, word);
  bytes.append(reinterpret_cast<const char*>(&f.xmm_space[0]), sizeof f.xmm_space);
  add(bytes, uint32_t(f.mxcsr));
  return bytes;
}

}  // namespace

void Server::serve() {
  while (!is_over_) {
    const remote::Received what = connection_.receive();
    if (what == remote::Received::nothing) return;
    if (what != remote::Received::packet) continue;
    const std::string packet = connection_.payload();
    if (packet == "k") return;  // is not answered
    const std::string reply = answer(packet);
    if (!connection_.send(reply)) return;
    if (packet == "QStartNoAckMode") connection_.stop_acknowledging();
  }
  if (!end_.empty()) connection_.finish();
}

std::string Server::answer(std::string_view packet) {
  if (packet.empty()) return kUnknown;
  const char kind = packet[0];
  packet.remove_prefix(1);
  switch (kind) {
    case '?':
      return last_stop();
    case 'q':
      return query(packet);
    case 'Q':
      return set(packet);
    case 'v':
      return verbose(packet);
    case 'H':
      return choose_thread(packet);
    case 'T': {
      const auto number = take_number(packet);
      return number && threads_.has(pid_t(*number)) ? kOk : kFailed;
    }
    case 'g':
      return registers();
    case 'G':
      return set_registers(packet);
    case 'm':
      return memory(packet);
    case 'M':
      return set_memory(packet, false);
    case 'X':
      return set_memory(packet, true);
    case 'c':
      return resume(0, 0, 0);
    case 's':
      return resume(thread_, 0, 0);
    case 'D':
      end_watch();
      threads_.detach();
      is_over_ = true;
      return kOk;
    default:
      return kUnknown;
  }
}

std::string Server::query(std::string_view packet) {
  if (packet.starts_with("Supported"))
    return "PacketSize=" + prof_text::hexadecimal_digits(kMaxMemory * 2 + 64) +
           ";QStartNoAckMode+;vContSupported+;qXfer:features:read+;prof.records+";
  if (packet == "C") return "QC" + prof_text::hexadecimal_digits(uint64_t(thread_));
  if (packet == "Attached") return "0";
  if (packet == "Prof.command") {
    const pid_t program = threads_.program();
    return prof_text::hexadecimal_digits(uint64_t(program)) + ":" +
           prof_text::hexadecimal_of(file_of_process(program, "cmdline"));
  }
  if (packet == "fThreadInfo") {
    std::string all = "m";
    for (const pid_t number : threads_.numbers())
      all += (all.size() > 1 ? "," : "") + prof_text::hexadecimal_digits(uint64_t(number));
    return all;
  }
  if (packet == "sThreadInfo") return "l";
  if (take_word(packet, "Xfer:features:read:target.xml:")) {
    const auto offset = take_number(packet);
    const bool has_comma = take_word(packet, ",");
    const auto size = take_number(packet);
    if (!offset || !has_comma || !size) return kFailed;
    const std::string_view all = kFeatures;
    const std::string_view piece = all.substr(std::min<size_t>(*offset, all.size()), *size);
    return (*offset + piece.size() < all.size() ? "m" : "l") + std::string(piece);
  }
  return kUnknown;
}

std::string Server::set(std::string_view packet) {
  if (packet == "StartNoAckMode") return kOk;
  if (!take_word(packet, "Prof:")) return kUnknown;
  while (!packet.empty()) {
    const bool is_buffer = packet.starts_with("buffer=");
    const bool is_forks = packet.starts_with("forks=");
    const bool is_blocks = packet.starts_with("blocks=");
    const bool is_each = packet.starts_with("each=");
    packet.remove_prefix(std::min(packet.size(), packet.find('=') + 1));
    const auto value = take_number(packet);
    if (!value) return kFailed;
    if (is_buffer) settings_.buffer = size_t(std::min<uint64_t>(*value, remote::kLongestPayload / 4));
    if (is_forks) settings_.follows_forks = *value != 0;
    if (is_blocks) settings_.by_blocks = *value != 0;
    if (is_each) settings_.steps_each = *value != 0;
    take_word(packet, ";");
  }
  return kOk;
}

std::string Server::verbose(std::string_view packet) {
  if (packet == "Prof") return record();
  if (packet == "Cont?") return "vCont;c;C;s;S";
  if (packet.starts_with("Kill")) {
    end_watch();
    is_over_ = true;
    return kOk;
  }
  if (!take_word(packet, "Cont;")) return kUnknown;
  // The first action that names a thread and steps decides; what others there are go on.
  pid_t steps = 0, to = 0;
  int signal = 0;
  while (!packet.empty()) {
    const char action = packet[0];
    packet.remove_prefix(1);
    const bool has_signal = action == 'C' || action == 'S';
    const int number = has_signal ? remote::from_protocol_signal(int(take_number(packet).value_or(0))) : 0;
    pid_t thread = 0;
    if (take_word(packet, ":")) thread = pid_t(take_number(packet).value_or(0));
    if ((action == 's' || action == 'S') && steps == 0) steps = thread > 0 ? thread : thread_;
    if (has_signal) {
      signal = number;
      to = thread > 0 ? thread : thread_;
    }
    packet.remove_prefix(std::min(packet.size(), packet.find(';')));
    take_word(packet, ";");
  }
  if (steps != 0 && !threads_.has(steps)) return kFailed;
  return resume(steps, to, signal);
}

std::string Server::choose_thread(std::string_view packet) {
  if (packet.empty()) return kFailed;
  packet.remove_prefix(1);  // g or c: for what
  if (packet.starts_with("-")) return kOk;
  const auto number = take_number(packet);
  if (!number) return kFailed;
  if (*number == 0) return kOk;
  if (!threads_.has(pid_t(*number))) return kFailed;
  thread_ = pid_t(*number);
  return kOk;
}

std::string Server::registers() {
  user_regs_struct raw;
  user_fpregs_struct floats;
  if (!get_registers(thread_, raw) || ptrace(PTRACE_GETFPREGS, thread_, nullptr, &floats) != 0) return kFailed;
  std::string bytes;
  for (const unsigned long long* value : general(raw)) add(bytes, *value);
  for (const unsigned long long* value : short_ones(raw)) add(bytes, uint32_t(*value));
  bytes += float_registers(floats);
  return prof_text::hexadecimal_of(bytes);
}

// Those of general use; what else there is stays.
std::string Server::set_registers(std::string_view digits) {
  user_regs_struct raw;
  const auto bytes = remote::from_hex(digits);
  if (!bytes || bytes->size() < kGeneral * 8 + kShort * 4 || !get_registers(thread_, raw)) return kFailed;
  size_t at = 0;
  for (unsigned long long* value : general(raw)) {
    std::memcpy(value, bytes->data() + at, 8);
    at += 8;
  }
  for (unsigned long long* value : short_ones(raw)) {
    uint32_t word = 0;
    std::memcpy(&word, bytes->data() + at, 4);
    *value = word;
    at += 4;
  }
  return target::set_registers(thread_, raw) ? kOk : kFailed;
}

std::string Server::memory(std::string_view packet) {
  const auto address = take_number(packet);
  const bool has_comma = take_word(packet, ",");
  const auto size = take_number(packet);
  if (!address || !has_comma || !size) return kFailed;
  const std::string bytes = read_memory(thread_, *address, std::min<size_t>(*size, kMaxMemory));
  return bytes.empty() && *size != 0 ? kFailed : prof_text::hexadecimal_of(bytes);
}

std::string Server::set_memory(std::string_view packet, bool is_binary) {
  const auto address = take_number(packet);
  const bool has_comma = take_word(packet, ",");
  const auto size = take_number(packet);
  if (!address || !has_comma || !size || !take_word(packet, ":")) return kFailed;
  const auto bytes = is_binary ? std::optional<std::string>(packet) : remote::from_hex(packet);
  if (!bytes || bytes->size() != *size) return kFailed;
  return bytes->empty() || write_memory(thread_, *address, *bytes) ? kOk : kFailed;
}

std::string Server::resume(pid_t steps, pid_t to, int signal) {
  const StoppedThreads::Stop stop = threads_.resume(steps, to, signal);
  if (stop.has_ended) {
    end_watch();
    is_over_ = true;
    return end_ = end_text(stop.status);
  }
  if (stop.signal == SIGINT) connection_.wants_stop();  // takes the request off the link
  thread_ = stop.thread;
  signal_ = stop.signal;
  return last_stop();
}

std::string Server::last_stop() const {
  if (is_over_) return end_;
  return "T" + byte_text(remote::to_protocol_signal(signal_)) +
         "thread:" + prof_text::hexadecimal_digits(uint64_t(thread_)) + ";";
}

std::string Server::record() {
  Stepper stepper(connection_, settings_);
  for (const pid_t number : threads_.numbers()) stepper.take(number);
  is_over_ = true;
  end_ = end_text(stepper.run(threads_.program()));
  end_watch();
  return end_;
}

}  // namespace prof::target
