// The GDB remote protocol, as both sides have it: packets, the link that they go over, and the numbers of signals in
// them.
//
// Packets of the GDB remote protocol (gdb's manual, appendix "Remote Protocol"): $PAYLOAD#XX, where XX is the sum of
// the bytes of the payload as it is sent, modulo 256, in hexadecimal.
//
// In a payload, a byte that means something to the protocol is sent as } and the byte xor 0x20. C*N stands for C and as
// many more of it as the character N is above 29. Between packets come + (the last one arrived), - (send it again) and
// 0x03 (stop the program). What is received comes from somebody else: it may be cut off, damaged or too long.

#ifndef PROF_INSTRUCTIONS_REMOTE_PACKET_H
#define PROF_INSTRUCTIONS_REMOTE_PACKET_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace prof::remote {

// The longest payload that is taken, in bytes. A buffer of records has 1 MiB at most, and twice that when all is
// escaped.
constexpr size_t kLongestPayload = size_t(4) << 20;

// The bytes that are to be sent.
std::string framed(std::string_view payload);

// What a reader found next in the bytes that it was given.
enum class Received : uint8_t {
  nothing,       // more bytes are wanted
  packet,        // payload() has it
  notification,  // a packet that begins with % and is not answered
  acknowledged,  // +
  refused,       // -
  interrupt,     // 0x03
  damaged        // a wrong sum, or too long: it was skipped
};

// Takes bytes as they arrive, and takes packets out of them.
class PacketReader {
 public:
  void add(std::string_view bytes) { bytes_.append(bytes); }
  Received next();
  // Of the last packet or notification, with escapes and repetitions undone. Valid until the next call of next().
  const std::string& payload() const { return payload_; }

 private:
  Received take(size_t end);

  std::string bytes_;    // from begin_ on not yet looked at
  size_t begin_ = 0;     // of what is next
  size_t searched_ = 0;  // after begin_: where no # was found up to now
  std::string payload_;
};

// The bytes that pairs of digits are of, as the protocol writes memory and names. Nothing if there is something else.
std::optional<std::string> from_hex(std::string_view digits);
// The number at the beginning of the text, of which its digits are removed. Nothing if there is none, or it has more
// than 64 bits.
std::optional<uint64_t> take_number(std::string_view& text);

// Whether the text begins with `word`, which is then removed.
inline bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// The link between prof trace and what controls the program: packets over a socket or a terminal.
class Connection {
 public:
  // Takes the descriptor, which reads and writes, and closes it at the end.
  explicit Connection(int descriptor);
  Connection(const Connection&) = delete;
  ~Connection();

  // Sends a packet. While acknowledgements are on, the other side's is waited for, and what it refuses is sent again.
  // False if the link is broken.
  bool send(std::string_view payload);

  // Waits for a packet, which is acknowledged if that is on, or for a request to stop the program. Received::nothing if
  // the link is broken. Never Received::acknowledged, refused or damaged.
  Received receive();
  // What receive returned, valid until the next call.
  const std::string& payload() const { return reader_.payload(); }

  // Sends the request to stop the program.
  bool interrupt() { return write("\x03"); }

  // Whether a request to stop the program has come, or the other side has gone. Does not wait.
  bool wants_stop();

  // Nothing more is sent. Waits until the other side has closed the link, and takes what it still sends: where that
  // stays unread, the link breaks, and what was sent last may not arrive.
  void finish();

  void stop_acknowledging() { acknowledges_ = false; }
  bool is_broken() const { return is_broken_; }
  int descriptor() const { return descriptor_; }

 private:
  bool write(std::string_view bytes);
  // Reads what there is, at least a byte; false if the link is broken.
  bool fill();

  const int descriptor_;
  PacketReader reader_;
  bool acknowledges_ = true, is_broken_ = false;
};

// The numbers that the GDB remote protocol has for signals (gdb's include/gdb/signals.def), which are not those of
// Linux: of a program that SIGUSR1 (10) killed it says 30, and its 10 is SIGBUS (7).

// What the protocol says for a signal of Linux.
int to_protocol_signal(int signal);
// The signal of Linux; 0 if it has none.
int from_protocol_signal(int number);

}  // namespace prof::remote

#endif
