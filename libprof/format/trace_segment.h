// What profld --trace puts into a rewritten program for the runtime. The program header of type kTraceSegment says where it
// lies, in pages of its own:
//
//   TraceWords    at the start of the first page: those of the threads that have none of their own yet. Code refers to them
//                 by the segment register gs, whose base is the distance from them to the thread's own.
//   TraceProgram  at the start of the second page; after it the table of blocks, as in a trace (trace.h, TraceBlocks)

#ifndef LIBPROF_FORMAT_TRACE_SEGMENT_H
#define LIBPROF_FORMAT_TRACE_SEGMENT_H

#include <stdint.h>

namespace prof_format {

inline constexpr uint32_t kTraceSegment = 0x6f507254;
inline constexpr uint64_t kTraceProgramOffset = 4096;

struct TraceWords {
  uint64_t cursor;          // address of the next record
  uint64_t limit;           // a record at this address or after it needs the runtime first
  uint64_t reads_segments;  // not 0: the processor and the kernel let programs read the base of fs (rdfsbase)
};

struct TraceProgram {
  uint64_t table_size;  // bytes
  uint32_t word_size;   // bytes of a word in windows: 2 or 4
  uint32_t has_memory;  // 1: records have values after the word (trace.h, kTraceMemory)
};

}  // namespace prof_format

#endif
