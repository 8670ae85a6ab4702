// Time stamps of a profile: how fast they ticked, and what they say now.

#ifndef PROF_READ_CLOCK_H
#define PROF_READ_CLOCK_H

#include <cstdint>
#include <optional>

#include "libprof/format/format.h"

namespace prof {

// The process that wrote this header still exists, on this machine and since the same boot.
bool process_is_running(const prof_format::Header& header);

// When a process started, as Header::start_time, also of one that ended and was not waited for; 0 if unknown.
uint64_t process_start_time(uint32_t pid);

// Nanoseconds in user code and in the kernel of a running process and its children that it waited for, in the kernel's
// ticks; 0 if unknown.
struct ProcessorTimes {
  uint64_t user = 0, system = 0;
};
ProcessorTimes processor_times(uint32_t pid);

// Whether the thread of a running process still exists.
bool thread_is_running(uint32_t pid, uint32_t tid);

// What the kernel has counted of a running thread's time on a processor, ns, with the precision of its scheduler;
// nothing if it has ended or that is not told.
std::optional<uint64_t> thread_cpu_time(uint32_t pid, uint32_t tid);

// Time-stamp counter of this processor, now.
uint64_t time_stamp();

// Ticks of the time-stamp counter per second, from the stamps in the header that lie furthest apart; if they are too
// close to each other to tell, and this is still the same boot of the same machine, from the first one and now.
// 0 if it cannot be known.
double time_stamp_rate(const prof_format::Header& header);

// The rate to compute with: where it is not known, a tick is taken for a nanosecond.
inline double rate_or_default(double rate) { return rate > 0 ? rate : 1e9; }

}  // namespace prof

#endif
