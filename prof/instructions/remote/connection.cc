#include "connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace prof::remote {

namespace {

constexpr int kMaxAttempts = 5;  // to send a packet that the other side refuses

// Packets are small and answered one by one: they must not wait for each other.
void send_at_once(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // fails where there is nothing to be set
}

}  // namespace

Connection::Connection(int descriptor) : descriptor_(descriptor) { send_at_once(descriptor); }

Connection::~Connection() { close(descriptor_); }

bool Connection::write(std::string_view bytes) {
  while (!bytes.empty() && !is_broken_) {
    ssize_t n = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == ENOTSOCK) n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n > 0) bytes.remove_prefix(size_t(n));
    if (n < 0 && errno != EINTR) is_broken_ = true;
  }
  return !is_broken_;
}

bool Connection::fill() {
  char buffer[65536];
  while (!is_broken_) {
    const ssize_t n = ::read(descriptor_, static_cast<char*>(buffer), sizeof buffer);
    if (n > 0) {
      reader_.add({static_cast<const char*>(buffer), size_t(n)});
      return true;
    }
    if (n == 0 || errno != EINTR) is_broken_ = true;
  }
  return false;
}

bool Connection::send(std::string_view payload) {
  const std::string sent = framed(payload);
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    if (!write(sent)) return false;
    if (!acknowledges_) return true;
    Received answer = reader_.next();
    while (answer != Received::acknowledged && answer != Received::refused) {
      if (answer == Received::nothing && !fill()) return false;
      answer = reader_.next();
    }
    if (answer == Received::acknowledged) return true;
  }
  is_broken_ = true;
  return false;
}

Received Connection::receive() {
  for (;;) {
    const Received what = reader_.next();
    switch (what) {
      case Received::nothing:
        if (!fill()) return Received::nothing;
        break;
      case Received::packet:
        if (acknowledges_) write("+");
        return what;
      case Received::damaged:
        if (acknowledges_) {
          write("-");
          break;
        }
        is_broken_ = true;  // it will not come again
        return Received::nothing;
      case Received::notification:
      case Received::interrupt:
        return what;
      case Received::acknowledged:
      case Received::refused:
        break;
    }
  }
}

void Connection::finish() {
  if (is_broken_ || shutdown(descriptor_, SHUT_WR) != 0) return;
  while (fill()) {
    while (reader_.next() != Received::nothing) {
    }
  }
}

bool Connection::wants_stop() {
  pollfd waited = {descriptor_, POLLIN, 0};
  if (poll(&waited, 1, 0) > 0 && !fill()) return true;
  return reader_.next() == Received::interrupt;
}

}  // namespace prof::remote
