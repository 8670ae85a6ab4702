// What kind of figures a profile has, or several of them together: mostly that is the PROFTYPE.

#ifndef PROF_MODEL_TREE_FIGURE_TYPE_H
#define PROF_MODEL_TREE_FIGURE_TYPE_H

#include <cstdint>

#include "libprof/format/format.h"

namespace prof {

enum class FigureType : uint8_t {
  // One run with this PROFTYPE, or several added up.
  time,
  elapsed,
  cpu,
  adaptive,
  sample,
  count,
  addresses,                // samples of a program without hooks
  waiting,                  // two runs, of elapsed times and of those on a processor (waiting.h)
  true_times,               // calls of a run, and times of samples that were taken from outside (sampled.h)
  true_times_of_addresses,  // such times of a run without hooks
  // Files gmon.out: total times and contexts are estimates (gmon_reading.h).
  gmon,         // with times from samples
  gmon_clock,   // whose times are exact, in ticks that are too short to be samples
  gmon_counts,  // without times
};
inline constexpr FigureType kLastFigureType = FigureType::gmon_counts;

struct FigureProperties {
  FigureType type;
  const char* name;           // the PROFTYPE, or a word like it
  const char* heading;        // what the line above a table says of it
  uint32_t profile_type = 0;  // prof_format::Type of profiles that have it by themselves; 0 if none do
  bool timed = true;          // false: calls were counted, not timed, and all cycles are 0
  bool estimated = false;     // times are estimates from samples
  bool by_samples = false;    // these are samples of the same run
  bool has_hooks = true;      // false: calls were not counted, and times are those of samples
  bool on_processor = false;  // times are those on a processor, without waiting
  bool has_waiting = false;   // what was waited is shown apart from them
  bool by_two_runs = false;   // Recorded::cpu has the other one
  bool from_outside = false;  // Recorded::sampled has what is known of the samples
  bool is_gmon = false;
};

const FigureProperties& properties_of(FigureType type);

// That of a profile; its header was read, and is of a type that is known.
FigureType figure_type_of(const prof_format::Header& header);

}  // namespace prof

#endif
