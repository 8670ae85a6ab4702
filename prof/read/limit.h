// What `prof ctl` and PROFSTART leave of a profile: the part of a run for which recording was on.
//
// The problem. Switching a program's recording on and off from outside would take a test in every hook, and threads
// that are in the middle of one when the switch comes. But figures in a profile only grow, and their nodes stay where
// they are. So the program always records, and the reader subtracts: `prof ctl` looks at the profile when recording is
// to change, and leaves a list of figures (calls and cycles, by block) in a file beside it:
//
//     recording is on:   what is to be subtracted, because it was made while recording was off, or before a reset
//     recording is off:  what is to be shown
//
// Either turns into the other by the same step, at the moment of the switch: what is there now, less the list.
//
// The file is called ctl.prof.<pid>, so that nobody takes it for a profile. Header::control of the profile tells how
// many changes were made, so that a profile that was moved away without its list, or met by an older one, is not shown
// as if nothing had been limited. The list is replaced before that word is stored, so it may be a change ahead.
//
// Apart from nodes, the list has the blocks of threads (calls: those that found no node) and block 0, which stands for
// the process (calls: the same; cycles: how long it ran).

#ifndef PROF_READ_LIMIT_H
#define PROF_READ_LIMIT_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libprof/format/control_list.h"

namespace prof {

using prof_format::BlockCounters;

struct Limit {
  bool is_on = true;
  uint32_t changes = 0;                // made by prof ctl
  uint64_t parts = 1;                  // how often recording began since the last reset, or the start
  std::vector<BlockCounters> figures;  // by block; what they are: see above
  std::string problem;                 // why the list cannot be used, else empty; then there are no figures

  // Whether something may not be shown.
  bool is_limited() const { return !is_on || changes > 0; }
  bool is_never_on() const { return !is_on && changes == 0; }
};

// The name of the list that belongs to a profile.
std::string limit_path(const std::string& profile_path);

// What a profile's header says, without a list.
Limit limit_of_header(const prof_format::Header& header);

// The limit of a profile with this header, from its list of `size` bytes. `read` reads bytes at an offset and returns
// how many there were.
using ReadBytes = std::function<uint64_t(void* to, uint64_t size, uint64_t offset)>;
Limit parse_limit(const ReadBytes& read, uint64_t size, const prof_format::Header& header);

// The limit of the profile at `profile_path`, with this header.
Limit read_limit(const std::string& profile_path, const prof_format::Header& header);

// Puts a new list in the place of the old one, whole or not at all. Throws Error if it cannot be written.
void write_limit(const Limit& limit, const std::string& profile_path, const prof_format::Header& header);

// Header::control after so many changes.
uint32_t control_word(bool is_on, uint32_t changes);

}  // namespace prof

#endif
