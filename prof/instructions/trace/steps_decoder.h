// Reads a chunk of steps, or of events (libprof/format/trace.h), run by run.

#ifndef PROF_INSTRUCTIONS_TRACE_STEPS_DECODER_H
#define PROF_INSTRUCTIONS_TRACE_STEPS_DECODER_H

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "run_table.h"
#include "varint.h"

namespace prof {

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
