// Standard input, output and error of a program that is run twice.
//
// Input. The first run reads it, and the second is to read the same. From a file, both begin where it stands. What
// comes through a pipe or a socket passes through this process, which keeps a copy. A terminal is for the first run
// only, which would notice if it were anything else; the second finds the end of its input at once. Devices such as
// /dev/null serve both.
//
// Output of the first run goes where it would go. Where it is to be compared, it passes through this process. Output
// of the second goes nowhere, or to where it can be compared.
//
// Each stream that passes through has a thread, so that one that is not read does not hold up the others. A stream ends
// with the program even if something that it started holds on to it.

#ifndef PROF_COMMANDS_LAUNCHING_STREAMS_H
#define PROF_COMMANDS_LAUNCHING_STREAMS_H

#include <string>
#include <thread>
#include <vector>

#include "launch.h"

namespace prof {

class Streams {
 public:
  // `keeps_output`: output is to be compared. Throws Error.
  explicit Streams(bool keeps_output);
  Streams(const Streams&) = delete;
  ~Streams();

  // Puts the descriptors of the first run, or of the second, into a launch.
  void for_first(Launch& launch);
  void for_second(Launch& launch);

  // Around the first run.
  void begin();
  void end();

  // What there is to say of the streams after both runs; "" if there is nothing.
  std::string remark() const;

 private:
  struct Relay {
    int from = -1, to = -1;
    int kept = -1;  // a copy of all that passed
    bool is_input = false, has_failed = false;
    std::thread thread = {};
  };
  int own(int descriptor);  // closes it at the end
  void run(Relay& relay) const;
  bool pass_on(const Relay& relay, const char* bytes, size_t size) const;

  std::vector<int> descriptors_;
  std::vector<Relay> relays_;
  int stop_ = -1;
  int nowhere_ = -1;
  int first_[3] = {-1, -1, -1}, second_[3] = {-1, -1, -1};
  int first_kept_[3] = {-1, -1, -1};
  bool is_terminal_ = false;
  off_t start_ = -1;  // where a file that is standard input stood
};

}  // namespace prof

#endif
