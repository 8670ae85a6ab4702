// What one thread stepped, as a chunk of a trace has it (libprof/format/trace.h: runs), or events: written and read.

#ifndef PROF_INSTRUCTIONS_TRACE_STEPS_H
#define PROF_INSTRUCTIONS_TRACE_STEPS_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/format/trace.h"
#include "run_table.h"
#include "varint.h"

namespace prof {

// How they are written.

// Memory that an instruction reads or writes. What does both, as add to memory, is a load and then a store.
struct TraceAccess {
  uint64_t address = 0;
  uint32_t size = 0;  // bytes; of one element if it is repeated
  bool is_write = false;
  bool is_repeated = false;  // by a prefix rep: `count` elements one after the other
  bool is_down = false;      // repeated to lower addresses: the direction flag is set
  uint64_t count = 1;        // of elements; 0 if rep found that there was nothing to do
};

class StepsEncoder {
 public:
  // False: it is one more round of the instruction before, which a prefix rep repeats.
  bool step(uint64_t address, uint8_t length, std::span<const TraceAccess> accesses);
  void event(prof_format::TraceEventKind kind, std::span<const uint64_t> values);

  // Whether so much was gathered that a chunk should be made of it.
  bool is_full() const;
  bool is_empty() const { return flow_.empty() && times_ == 0; }  // but for the run that goes on

  // The bytes of a chunk, of all that was gathered, which is forgotten. The run that goes on stays for the next one,
  // unless it is ended before.
  std::string take();
  void end_run();

 private:
  // How the addresses of an access in a run went on.
  struct Prediction {
    uint64_t address = 0, change = 0;
    bool is_known = false;
  };
  struct Run {
    std::vector<Prediction> accesses = {};
    uint32_t next = kNone;  // which followed it last
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  bool is_repetition(uint64_t address, std::span<const TraceAccess> accesses) const;
  void add_round(std::span<const TraceAccess> accesses);
  uint32_t number_of_run();
  void name_run(uint32_t run);
  void write_times();
  void append_address(Prediction& prediction, const TraceAccess& access);

  // The chunk.
  std::string flow_, addresses_;
  std::unordered_map<std::string, uint32_t> numbers_;  // of runs, by their start and what they are
  std::vector<Run> runs_;
  uint32_t before_ = kNone;    // the last run
  uint64_t times_ = 0;         // how many runs came that were the one that was expected
  uint64_t last_end_ = 0;      // the end of the run before
  uint64_t last_address_ = 0;  // of memory
  uint64_t instructions_ = 0;

  // The run that goes on.
  uint64_t start_ = 0, next_ = 0,
           last_ = 0;         // addresses: of its first instruction, of what follows it, of its last one
  uint64_t count_ = 0;        // of instructions
  size_t last_accesses_ = 0;  // of its last instruction
  std::string shape_;         // its instructions, as in the flow
  std::vector<TraceAccess> accesses_;
};

// Reads a chunk of steps, or of events (libprof/format/trace.h), run by run.

struct TraceEvent {
  uint32_t kind = 0;  // prof_format::TraceEventKind, or one that is not known
  std::vector<uint64_t> values;
};

class StepsDecoder {
 public:
  // `bytes`: unpacked; they and `table` must outlive this. Throws DamagedTrace, as all here does.
  StepsDecoder(std::string_view bytes, uint32_t process, RunTable& table);

  // Goes on to the next run or event; false: there is none.
  bool next();

  // What it is, until the next call. An event if `run` is null.
  const TraceRun* run() const { return run_; }
  std::span<const AccessValue> accesses() const { return accesses_; }
  const TraceEvent& event() const { return event_; }

 private:
  struct Prediction {
    uint64_t address = 0, change = 0;
    bool is_known = false;
  };
  struct Known {
    const TraceRun* run;
    std::vector<Prediction> accesses;
    uint32_t next;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t new_run();
  void enter(uint32_t run);
  void read_addresses(Known& known);
  void read_event();

  TraceBytes flow_, addresses_;
  uint32_t process_;
  RunTable& table_;
  std::vector<Known> known_;
  uint32_t before_ = kNone;
  uint64_t times_ = 0;  // still to come
  uint64_t last_end_ = 0, last_address_ = 0, instructions_ = 0;

  const TraceRun* run_ = nullptr;
  std::vector<AccessValue> accesses_;
  TraceEvent event_;
};

// A chunk of events only. Throws DamagedTrace.
std::vector<TraceEvent> decode_events(std::string_view bytes);

}  // namespace prof

#endif
