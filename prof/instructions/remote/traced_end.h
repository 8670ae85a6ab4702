// How tracing ended.

#ifndef PROF_INSTRUCTIONS_REMOTE_TRACED_END_H
#define PROF_INSTRUCTIONS_REMOTE_TRACED_END_H

#include <cstdint>

namespace prof::remote {

struct TracedEnd {
  enum class Kind : uint8_t { exit, signal, link };
  Kind kind = Kind::link;
  int status = 0;  // the exit status, or the signal
};

}  // namespace prof::remote

#endif
