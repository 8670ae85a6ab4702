// The list ctl.prof.<pid> that `prof ctl` writes beside a profile, described for readers in prof(5): the counters to
// leave out of the profile, or to show in place of its own. prof/read/recording.h tells what it is for.
//
// The file is one ControlList and after it `entries` BlockCounters, in ascending order of their blocks. All integers
// are little-endian.

#ifndef LIBPROF_FORMAT_CONTROL_LIST_H
#define LIBPROF_FORMAT_CONTROL_LIST_H

#include <stdint.h>

#include "format.h"

namespace prof_format {

inline constexpr char kControlListMagic[8] = {'\x7f', 'P', 'C', 'T', 'L', '\r', '\n', '\x1a'};
inline constexpr uint32_t kControlListVersion = 2;

struct ControlList {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;  // kByteOrder
  uint32_t entry_size;  // sizeof(BlockCounters)
  uint32_t entries;
  uint32_t control;  // Header::control of the profile once the change is made
  uint32_t pid;      // of the profile's header, as are:
  uint64_t tsc_start, realtime_start;
  uint64_t start_time;
  uint64_t parts;  // how often recording began since the last reset, or the start
};

// The counters of a node; or of a thread, of which only `calls` is used (those that found no node) and, if kSample,
// `cycles` (samples in hooks) and `timed` (signals); or of the process, as block 0 (calls: those that found no node;
// cycles: how long it ran).
struct BlockCounters {
  uint64_t calls = 0;
  uint64_t cycles = 0;  // of self time; kAdaptive: the estimate of the inclusive time; kSample: samples
  Block block = 0;
  uint32_t reserved = 0;
  uint64_t timed = 0;  // kAdaptive: calls that were timed
  // kTime, kCpu: cycles off the processor, as in Node; kSample: samples of libraries and of the kernel
  uint64_t blocked = 0, preempted = 0;
};

static_assert(sizeof(ControlList) == 64 && sizeof(BlockCounters) == 48);

}  // namespace prof_format

#endif
