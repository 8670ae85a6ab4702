// prof trace's side of the link to proftarget (prof/instructions/target/server.h says what is sent).

#ifndef PROF_INSTRUCTIONS_REMOTE_TARGET_CLIENT_H
#define PROF_INSTRUCTIONS_REMOTE_TARGET_CLIENT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packet.h"
#include "prof/instructions/trace/trace_writer.h"
#include "step_recorder.h"

namespace prof::remote {

struct TargetSettings {
  uint64_t buffer = 0;  // bytes of records to a packet; 0: a packet for each step
  bool follows_forks = false;
  bool by_blocks = false;   // only which instructions ran is recorded, which is faster
  bool steps_each = false;  // proftarget runs no instruction by itself
  bool is_local = true;     // the program runs on this machine
};

class TargetClient {
 public:
  // Takes the descriptor of the link. Throws Error if there is no proftarget at its other end.
  explicit TargetClient(int descriptor);

  // The number of the process, and its command line: the program's name and its arguments.
  uint32_t process() const { return process_; }
  const std::vector<std::string>& command() const { return command_; }

  // Lets the program run to its end, and records what it does. When the trace takes no more, the program goes on
  // without being stepped. Throws Error if what comes makes no sense.
  TracedEnd record(TraceWriter& trace, const TargetSettings& settings);

 private:
  std::string ask(std::string_view packet);

  Connection connection_;
  uint32_t process_ = 0;
  std::vector<std::string> command_;
};

// How the program ended, by a packet W or X; nothing for all others.
std::optional<TracedEnd> end_of(std::string_view packet);

}  // namespace prof::remote

#endif
