// The link between prof trace and what controls the program: packets over a socket or a terminal.

#ifndef PROF_INSTRUCTIONS_REMOTE_CONNECTION_H
#define PROF_INSTRUCTIONS_REMOTE_CONNECTION_H

#include <string>
#include <string_view>

#include "packet.h"

namespace prof::remote {

class Connection {
 public:
  // Takes the descriptor, which reads and writes, and closes it at the end.
  explicit Connection(int descriptor);
  Connection(const Connection&) = delete;
  ~Connection();

  // Sends a packet. While acknowledgements are on, the other side's is waited for, and what it refuses is sent again. False
  // if the link is broken.
  bool send(std::string_view payload);

  // Waits for a packet, which is acknowledged if that is on, or for a request to stop the program. Received::nothing if the
  // link is broken. Never Received::acknowledged, refused or damaged.
  Received receive();
  // What receive returned, valid until the next call.
  const std::string& payload() const { return reader_.payload(); }

  // Sends the request to stop the program.
  bool interrupt() { return write("\x03"); }

  // Whether a request to stop the program has come, or the other side has gone. Does not wait.
  bool wants_stop();

  // Nothing more is sent. Waits until the other side has closed the link, and takes what it still sends: where that stays
  // unread, the link breaks, and what was sent last may not arrive.
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

}  // namespace prof::remote

#endif
