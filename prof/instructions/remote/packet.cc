#include "packet.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "linker-rewrite/text/numbers.h"

namespace prof::remote {

namespace {

constexpr char kEscape = '}', kRepeat = '*', kInterrupt = 3;
constexpr int kRepeatBase = 29;   // what the count of a repetition is written above
constexpr size_t kSumLength = 3;  // # and two digits

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

uint8_t sum_of(std::string_view bytes) {
  uint8_t sum = 0;
  for (const char c : bytes) sum = uint8_t(sum + uint8_t(c));
  return sum;
}

// Nothing if the sender made a mistake: an escape of nothing, a repetition of nothing.
std::optional<std::string> unescaped(std::string_view sent) {
  std::string payload;
  payload.reserve(sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    if (sent[i] != kEscape && sent[i] != kRepeat) {
      payload.push_back(sent[i]);
      continue;
    }
    const bool is_escape = sent[i] == kEscape;
    if (++i == sent.size()) return std::nullopt;
    if (is_escape) {
      payload.push_back(char(sent[i] ^ 0x20));
      continue;
    }
    const int more = uint8_t(sent[i]) - kRepeatBase;
    if (more < 3 || sent[i] > '~' || payload.empty() || payload.size() + size_t(more) > kLongestPayload)
      return std::nullopt;
    payload.append(size_t(more), payload.back());
  }
  return payload;
}

}  // namespace

std::string framed(std::string_view payload) {
  std::string sent = "$";
  sent.reserve(payload.size() + payload.size() / 16 + 4);
  for (const char c : payload) {
    if (c == '$' || c == '#' || c == kEscape || c == kRepeat) {
      sent.push_back(kEscape);
      sent.push_back(char(c ^ 0x20));
    } else {
      sent.push_back(c);
    }
  }
  const uint8_t sum = sum_of(std::string_view(sent).substr(1));
  sent.push_back('#');
  sent += prof_text::hexadecimal_of(std::string(1, char(sum)));
  return sent;
}

// `end`: of the whole packet.
Received PacketReader::take(size_t end) {
  const std::string_view packet = std::string_view(bytes_).substr(begin_, end - begin_);
  const bool is_notification = packet[0] == '%';
  const std::string_view sent = packet.substr(1, packet.size() - 1 - kSumLength);
  const std::string_view digits = packet.substr(packet.size() - 2);
  const int high = digit(digits[0]), low = digit(digits[1]);
  std::optional<std::string> payload;
  if (high >= 0 && low >= 0 && high * 16 + low == sum_of(sent)) payload = unescaped(sent);
  begin_ = end;
  searched_ = 0;
  if (!payload) return Received::damaged;
  payload_ = std::move(*payload);
  return is_notification ? Received::notification : Received::packet;
}

Received PacketReader::next() {
  if (begin_ == bytes_.size() || begin_ > kLongestPayload) {  // what was read makes room
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
  // Anything else between packets is noise, which the protocol wants skipped.
  for (; begin_ < bytes_.size(); ++begin_) {
    const char c = bytes_[begin_];
    if (c == '$' || c == '%') break;
    if (c == '+' || c == '-' || c == kInterrupt) {
      ++begin_;
      return c == '+' ? Received::acknowledged : c == '-' ? Received::refused : Received::interrupt;
    }
  }
  if (begin_ == bytes_.size()) return Received::nothing;
  const size_t mark = bytes_.find('#', begin_ + 1 + searched_);
  if (mark == std::string::npos) {
    searched_ = bytes_.size() - begin_ - 1;
    if (searched_ <= kLongestPayload) return Received::nothing;
    begin_ = bytes_.size();
    searched_ = 0;
    return Received::damaged;
  }
  searched_ = mark - begin_ - 1;
  return mark + kSumLength > bytes_.size() ? Received::nothing : take(mark + kSumLength);
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = digit(digits[i]), low = digit(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(char(high * 16 + low));
  }
  return bytes;
}

std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t number = 0;
  size_t n = 0;
  for (; n < text.size() && digit(text[n]) >= 0; ++n) {
    if (number >> 60 != 0) return std::nullopt;
    number = number << 4 | uint64_t(digit(text[n]));
  }
  if (n == 0) return std::nullopt;
  text.remove_prefix(n);
  return number;
}

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

namespace {

constexpr uint8_t kUnknown = 143;  // of those that gdb has no name for, as SIGSTKFLT
// By the number that Linux has on this architecture.
constexpr uint8_t kNumbers[] = {0,  1,  2,  3,  4,  5,  6,  10, 8,  9,  30, 11, 31, 13, 14, 15, kUnknown,
                                20, 19, 17, 18, 21, 22, 16, 24, 25, 26, 27, 28, 23, 32, 12, 77};
constexpr int kSignals = sizeof kNumbers;  // from here on they are real-time signals
constexpr int kLast = 64, kNumberOfLast = 78, kNumberOfFirst = 45;

}  // namespace

int to_protocol_signal(int signal) {
  if (signal >= 0 && signal < kSignals) return kNumbers[signal];
  if (signal == kLast) return kNumberOfLast;
  return signal > kLast || signal < 0 ? kUnknown : kNumberOfFirst + signal - kSignals;
}

int from_protocol_signal(int number) {
  for (int signal = 1; signal <= kLast; ++signal) {
    if (to_protocol_signal(signal) == number) return signal;
  }
  return 0;
}

}  // namespace prof::remote
