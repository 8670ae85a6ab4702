#include "streams.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "prof/read/error.h"

namespace prof {

namespace {

// An open file without a name.
int unnamed_file() {
  std::FILE* file = std::tmpfile();
  const int fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
  if (file) std::fclose(file);
  if (fd < 0) throw Error("a temporary file: " + system_error(errno));
  return fd;
}

bool write_all(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= size_t(n);
  }
  return true;
}

bool is_readable(int fd) {
  pollfd p = {fd, POLLIN, 0};
  return poll(&p, 1, 0) == 1;
}

bool are_equal(int a, int b) {
  struct stat sa, sb;
  if (fstat(a, &sa) != 0 || fstat(b, &sb) != 0 || sa.st_size != sb.st_size) return false;
  std::vector<char> x(1 << 16), y(1 << 16);
  for (off_t at = 0; at < sa.st_size;) {
    const ssize_t n = pread(a, x.data(), x.size(), at);
    if (n <= 0 || pread(b, y.data(), size_t(n), at) != n || std::memcmp(x.data(), y.data(), size_t(n)) != 0)
      return false;
    at += n;
  }
  return true;
}

}  // namespace

Streams::Streams(bool keeps_output) {
  stop_ = own(eventfd(0, EFD_CLOEXEC));
  nowhere_ = own(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (stop_ < 0 || nowhere_ < 0) throw Error("the program's streams: " + system_error(errno));
  auto add_relay = [&](int stream) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("pipe: " + system_error(errno));
    const bool is_input = stream == STDIN_FILENO;
    const int ours = own(fcntl(stream, F_DUPFD_CLOEXEC, 3)), kept = own(unnamed_file());
    first_[stream] = ends[is_input ? 0 : 1];
    first_kept_[stream] = kept;
    if (is_input) fcntl(ends[1], F_SETFL, O_NONBLOCK);
    relays_.push_back({is_input ? ours : ends[0], is_input ? ends[1] : ours, kept, is_input});
  };

  struct stat status;
  if (fstat(STDIN_FILENO, &status) == 0) {
    is_terminal_ = isatty(STDIN_FILENO);
    if (S_ISREG(status.st_mode)) start_ = lseek(STDIN_FILENO, 0, SEEK_CUR);
    if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) add_relay(STDIN_FILENO);
  }
  for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (keeps_output && fcntl(stream, F_GETFD) >= 0) add_relay(stream);
    second_[stream] = first_kept_[stream] < 0 ? nowhere_ : own(unnamed_file());
  }
}

Streams::~Streams() {
  for (int fd : first_) {
    if (fd >= 0) close(fd);
  }
  for (int fd : descriptors_) {
    if (fd >= 0) close(fd);
  }
}

int Streams::own(int descriptor) {
  descriptors_.push_back(descriptor);
  return descriptor;
}

void Streams::for_first(Launch& launch) {
  launch.input = first_[0];
  launch.output = first_[1];
  launch.error = first_[2];
}

void Streams::for_second(Launch& launch) {
  if (start_ >= 0) lseek(STDIN_FILENO, start_, SEEK_SET);
  if (first_kept_[0] >= 0) lseek(first_kept_[0], 0, SEEK_SET);
  launch.input = is_terminal_ ? nowhere_ : first_kept_[0];
  launch.output = second_[1];
  launch.error = second_[2];
}

void Streams::begin() {
  // What the program has of a pipe, this process does not need: else it would never end.
  for (int& fd : first_) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  // Signals are for the thread that waits for the program; a pipe that nobody reads is an error, not a signal.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (Relay& relay : relays_) relay.thread = std::thread([this, &relay] { run(relay); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Streams::end() {
  const uint64_t one = 1;
  write_all(stop_, reinterpret_cast<const char*>(&one), sizeof one);
  for (Relay& relay : relays_) {
    if (relay.thread.joinable()) relay.thread.join();
  }
}

bool Streams::pass_on(const Relay& relay, const char* bytes, size_t size) const {
  if (!relay.is_input) return write_all(relay.to, bytes, size);
  while (size > 0) {
    pollfd waited[] = {{relay.to, POLLOUT, 0}, {stop_, POLLIN, 0}};
    poll(waited, 2, -1);
    if (waited[1].revents) return false;
    const ssize_t n = write(relay.to, bytes, size);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= size_t(n);
  }
  return true;
}

void Streams::run(Relay& relay) const {
  std::vector<char> buffer(1 << 16);
  for (bool goes_on = true; goes_on;) {
    // Nobody reads what would go to `to`: an error there ends it, as it would end a writer.
    pollfd waited[] = {{relay.from, POLLIN, 0}, {stop_, POLLIN, 0}, {relay.to, 0, 0}};
    poll(waited, 3, -1);
    const bool has_stopped = waited[1].revents != 0;
    if (waited[2].revents & POLLERR) break;
    if (has_stopped && (relay.is_input || !is_readable(relay.from))) break;
    if (waited[0].revents == 0 && !has_stopped) continue;
    const ssize_t n = read(relay.from, buffer.data(), buffer.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) break;
    relay.has_failed = !write_all(relay.kept, buffer.data(), size_t(n)) || relay.has_failed;
    goes_on = pass_on(relay, buffer.data(), size_t(n));
  }
  // The program's end of a pipe: it sees the end of its input, or a pipe that nobody reads.
  close(relay.is_input ? relay.to : relay.from);
}

std::string Streams::remark() const {
  std::string different;
  for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (first_kept_[stream] < 0 || are_equal(first_kept_[stream], second_[stream])) continue;
    different += (different.empty() ? "standard " : " and standard ");
    different += stream == STDOUT_FILENO ? "output" : "error";
  }
  const bool failed = std::any_of(relays_.begin(), relays_.end(), [](const Relay& r) { return r.has_failed; });
  if (failed) return "not all of the program's input or output could be kept for the second run";
  return different.empty() ? "" : "the two runs differ in what they wrote to " + different;
}

}  // namespace prof
