// Writes a trace (libprof/format/trace.h) of what was stepped.
//
// Steps are gathered, thread by thread, and go to the file as one chunk when there are many, when a second has gone by,
// or on flush. What a file that is cut off has up to then can be read.

#ifndef PROF_INSTRUCTIONS_TRACE_TRACE_WRITER_H
#define PROF_INSTRUCTIONS_TRACE_TRACE_WRITER_H

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/format/trace.h"
#include "steps.h"
#include "trace_memory.h"

namespace prof {

struct TracedThread {
  uint32_t process = 0, thread = 0;
  friend auto operator<=>(const TracedThread&, const TracedThread&) = default;
};

struct TracedModule {
  uint64_t start = 0, end = 0;  // addresses in memory
  uint64_t offset = 0;          // in the file
  std::string path;
  std::string build_id = {};  // raw bytes; empty: unknown
};

class TraceWriter {
 public:
  struct Settings {
    prof_format::TraceOrigin origin = prof_format::kTraceTarget;
    bool has_memory = true;
    uint32_t pid = 0;
    uint64_t limit = UINT64_MAX;  // bytes; the trace ends when the file would be larger
  };

  // Makes a new file. Throws Error if it cannot be written, here and below; a disk that is full is no Error: the trace
  // ends, is_ended becomes true, and what follows is left out.
  TraceWriter(const std::string& path, const Settings& settings);
  TraceWriter(const TraceWriter&) = delete;
  ~TraceWriter();  // writes what is gathered, as far as it can, but no end

  void command(const std::string& program, const std::vector<std::string>& arguments);
  // A file was mapped from now on, in the place of what was there.
  void module(uint32_t process, const TracedModule& module);

  // An instruction that ran, by its bytes in memory (1 to 15), and what it touched, in the order of its operands. Steps
  // that a prefix rep makes of one instruction (its address again, with accesses that are repeated) become one.
  void step(TracedThread thread, uint64_t address, std::string_view bytes, std::span<const TraceAccess> accesses);

  // Before the next step of the thread. `values`: see TraceEventKind.
  void event(TracedThread thread, prof_format::TraceEventKind kind, std::span<const uint64_t> values);

  // What is gathered goes to the file, but for the last instructions that each thread ran one after the other.
  void flush();

  // The last call.
  void end(prof_format::TraceEndReason reason, uint32_t status);

  bool is_ended() const { return is_ended_; }              // the limit or the end of the disk is reached
  bool is_disk_full() const { return is_disk_full_; }      // the second of them
  uint64_t instructions() const { return instructions_; }  // so far
  uint64_t accesses() const { return accesses_; }          // so far; a repeated one: as often as it was made

 private:
  StepsEncoder& steps_of(TracedThread thread);
  void write_steps(TracedThread thread, StepsEncoder& steps);
  void end_runs();
  void write_code();
  void write_chunk(prof_format::TraceChunk chunk, const std::string& bytes);
  bool append(std::string_view bytes);
  void write_end(prof_format::TraceEndReason reason, uint32_t status);

  std::string path_;
  Settings settings_;
  int fd_ = -1;
  uint64_t size_ = 0;  // bytes of the file
  bool is_ended_ = false, is_disk_full_ = false;
  uint64_t instructions_ = 0, accesses_ = 0;
  uint64_t next_flush_ = 0;  // nanoseconds
  unsigned steps_ = 0;       // since the clock was looked at
  std::map<TracedThread, std::unique_ptr<StepsEncoder>> threads_;
  std::pair<const TracedThread, std::unique_ptr<StepsEncoder>>* last_ = nullptr;  // of threads_
  CodeMemory code_;
  std::map<uint32_t, std::string> new_code_;  // by process, to be written: TraceCode and bytes, and again
};

}  // namespace prof

#endif
