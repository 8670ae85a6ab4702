// The part of a run for which recording was on: what PROFSTART and `prof ctl` said, and how the rest is taken out of a
// profile.
//
// The problem. Switching a program's recording on and off from outside would take a test in every hook, and care for
// threads that are in the middle of a hook at that moment. But the counters in a profile only grow, and their nodes
// stay where they are. So the program always records, and the reader subtracts: when recording is to change, `prof ctl`
// looks at the profile and leaves a list of counters (calls and cycles, by block) in a file beside it:
//
//     recording is on:   what is to be subtracted, because it was made while recording was off, or before a reset
//     recording is off:  what is to be shown
//
// Either list turns into the other by the same step, at the moment of the switch: the counters as they are then, minus
// the list.
//
// The file is called ctl.prof.<pid>, so that nobody takes it for a profile; libprof/format/control_list.h describes it.
// Header::control of the profile tells how many changes were made. So if a profile was moved without its list, or lies
// beside an older list, prof does not show it as if nothing had been limited. The list is replaced before that word is
// stored, so it may be one change ahead.

#ifndef PROF_READ_RECORDING_H
#define PROF_READ_RECORDING_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libprof/format/control_list.h"

namespace prof {

struct Calls;

using prof_format::BlockCounters;

struct Recording {
  bool is_on = true;
  uint32_t changes = 0;                 // made by prof ctl
  uint64_t parts = 1;                   // how often recording began since the last reset, or the start
  std::vector<BlockCounters> counters;  // sorted by block; what they are for: see above
  std::string problem;                  // why the list cannot be used, else empty; then there are no counters

  // Whether something may not be shown.
  bool is_limited() const { return !is_on || changes > 0; }
  bool is_never_on() const { return !is_on && changes == 0; }
};

// The name of the list that belongs to a profile.
std::string control_list_path(const std::string& profile_path);

// What the header of a profile says, without a list.
Recording recording_of_header(const prof_format::Header& header);

// The same of a profile with this header, from its list of `size` bytes. `read` reads bytes at an offset and returns
// how many there were.
using ReadBytes = std::function<uint64_t(void* to, uint64_t size, uint64_t offset)>;
Recording parse_control_list(const ReadBytes& read, uint64_t size, const prof_format::Header& header);

// The same of the profile at `profile_path`, with this header.
Recording read_recording(const std::string& profile_path, const prof_format::Header& header);

// Puts a new list in the place of the old one, whole or not at all. Throws Error if it cannot be written.
void write_control_list(const Recording& recording, const std::string& profile_path, const prof_format::Header& header);

// Header::control after so many changes.
uint32_t control_word(bool is_on, uint32_t changes);

// Takes out of a profile what was recorded while recording was off, by lists of counters.

// All counters that are not 0, sorted by block. Nodes with impossible counts are not among them, and the functions
// below leave these as they are, so that others find and report them.
std::vector<BlockCounters> list_counters(const Calls& calls);

// Subtracts the counters of a list from those in `calls`. No counter gets less than 0: one that was read while the
// program ran may be a little too large. `header` is the profile's, `list` is sorted by block.
void subtract_counters(Calls& calls, const prof_format::Header& header, const std::vector<BlockCounters>& list);

// Puts the counters of a list in the place of all those in `calls`.
void replace_counters(Calls& calls, const prof_format::Header& header, const std::vector<BlockCounters>& list);

// Takes the nodes out of the trees that have neither calls nor time, nor have any below them. Does nothing if links
// between nodes are broken.
void leave_out_empty_nodes(Calls& calls);

}  // namespace prof

#endif
