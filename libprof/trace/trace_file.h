// trace.<pid>, the file: see trace_file.cc. All of it is for heavy paths.

#ifndef LIBPROF_TRACE_FILE_H
#define LIBPROF_TRACE_FILE_H

#include <stdint.h>

#include "libprof/format/trace.h"

namespace libprof {

// The number of the module that the program is.
inline constexpr uint32_t kTracedModule = 1;

// Makes the file beside the profile, with all that stands in front of the windows. `program`: in memory, with the table
// of blocks after it. If there can be no trace, says why; then there are no windows.
void create_trace(const prof_format::TraceProgram& program);

// A part of the file that is mapped.
struct TraceWindow {
  char* start;
  uint64_t size;    // bytes, whole pages
  uint64_t offset;  // in the file
};

// Maps the next part of the file, `size` bytes of zeros or fewer, and writes the chunk there that it is: `chunk`, with
// its size. Start is null if the trace has ended: now, perhaps, which is written into it.
TraceWindow take_trace_window(uint64_t size, prof_format::TraceChunk chunk);

// Maps again a part that was a window before, as it is. Start is null if that is not possible.
TraceWindow take_trace_window_again(uint64_t offset, uint64_t size);

// Writes a chunk after all others. `bytes`: chunk.stored of them, a multiple of 8. False if there is no room, or it
// cannot be written; the trace has not ended.
bool append_trace_chunk(const prof_format::TraceChunk& chunk, const void* bytes);

// Some thread has no window: the end of the trace is to say so, if it does not say why.
void note_untraced();

// Writes the end of the trace at exit. There are no windows after it.
void end_trace_file();

}  // namespace libprof

#endif
