// Reads a trace from its beginning to its end, one chunk after the other, whichever way it was made. What is kept grows
// with the program's code, not with the length of the trace.

#ifndef PROF_INSTRUCTIONS_TRACE_TRACE_READER_H
#define PROF_INSTRUCTIONS_TRACE_TRACE_READER_H

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "blocks.h"
#include "run_table.h"
#include "steps.h"
#include "trace_file.h"
#include "trace_memory.h"
#include "trace_writer.h"

namespace prof {

// Unpacks the records that the runtime of a rewritten program packed (libprof/format/trace.h: kTracePacked).
// `size`: bytes that they are to become. Throws DamagedTrace if they do not.
std::string unpacked_records(std::string_view packed, uint64_t size);

// Gets what happened, thread by thread in the order in which it happened.
class TraceConsumer {
 public:
  TraceConsumer() = default;
  TraceConsumer(const TraceConsumer&) = delete;
  virtual ~TraceConsumer() = default;

  // A run is given before its first `run`; memory is as it is then.
  virtual void new_run(const TraceRun& run, const TraceMemory& memory) = 0;
  // `accesses` has an element for each of the run's.
  virtual void run(TracedThread thread, const TraceRun& run, std::span<const AccessValue> accesses) = 0;
  virtual void event(TracedThread thread, const TraceEvent& event) = 0;
  // True: it wants no more.
  virtual bool is_done() const { return false; }
};

class TraceReader {
 public:
  // Throws Error if the file cannot be read or is no trace.
  explicit TraceReader(const std::string& path);
  ~TraceReader();

  const TraceFile& file() const { return file_; }

  // Once. Throws Error if the file cannot be read. What is damaged ends it, and is told by a remark.
  void read(TraceConsumer& consumer);

  // After read: the program and its arguments, as the trace has them.
  const std::vector<std::string>& command() const { return command_; }
  // What is missing, for the user; empty if the trace is whole.
  const std::vector<std::string>& remarks() const { return remarks_; }
  // It has not all that the program did.
  bool is_partial() const { return is_partial_; }

 private:
  // Blocks of one thread and one module.
  struct BlockStream;
  // The table of a module.
  struct Blocks;
  using StreamKey = std::tuple<uint32_t, uint32_t, uint32_t>;  // process, thread, number of the module

  void read_chunk(const TraceChunkPlace& chunk);
  void read_steps(const TraceChunkPlace& chunk);
  void read_blocks(const TraceChunkPlace& chunk);
  void pass_event(TracedThread thread, const TraceEvent& event);
  void pass_run(TracedThread thread, const TraceRun& run, std::span<const AccessValue> accesses);
  BlockStream& stream_of(const TraceChunkPlace& chunk);
  void note_blocks();
  void note_end();

  TraceFile file_;
  TraceMemory memory_;
  RunTable runs_;
  uint64_t given_ = 0;                                                       // runs that the consumer knows
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Blocks>> tables_;  // by process and number of the module
  std::map<StreamKey, std::unique_ptr<BlockStream>> streams_;
  std::vector<std::string> command_, remarks_;
  bool is_partial_ = false, is_incomplete_ = false, has_unknown_ = false;
  uint64_t lost_ = 0;
  bool has_lost_ = false;
  TraceConsumer* consumer_ = nullptr;
};

}  // namespace prof

#endif
