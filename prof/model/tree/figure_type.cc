#include "figure_type.h"

#include <algorithm>
#include <iterator>

namespace prof {

namespace {

constexpr FigureProperties kTypes[] = {
    {.type = FigureType::time,
     .name = "time",
     .heading = "PROFTYPE=time",
     .profile_type = prof_format::kTime,
     .on_processor = true,
     .has_waiting = true},
    {.type = FigureType::elapsed,
     .name = "elapsed",
     .heading = "PROFTYPE=elapsed",
     .profile_type = prof_format::kElapsed},
    {.type = FigureType::cpu,
     .name = "cpu",
     .heading = "PROFTYPE=cpu",
     .profile_type = prof_format::kCpu,
     .on_processor = true},
    {.type = FigureType::adaptive,
     .name = "adaptive",
     .heading = "PROFTYPE=adaptive",
     .profile_type = prof_format::kAdaptive,
     .estimated = true,
     .on_processor = true},
    {.type = FigureType::sample,
     .name = "sample",
     .heading = "PROFTYPE=sample",
     .profile_type = prof_format::kSample,
     .estimated = true,
     .by_samples = true,
     .on_processor = true},
    {.type = FigureType::count,
     .name = "count",
     .heading = "PROFTYPE=count",
     .profile_type = prof_format::kCount,
     .timed = false},
    {.type = FigureType::addresses,
     .name = "addresses",
     .heading = "no hooks, times from samples",
     .profile_type = prof_format::kAddresses,
     .estimated = true,
     .by_samples = true,
     .has_hooks = false,
     .on_processor = true},
    {.type = FigureType::waiting, .name = "waiting", .heading = "PROFTYPE=elapsed and cpu", .by_two_runs = true},
    {.type = FigureType::true_times,
     .name = "true",
     .heading = "times from samples",
     .estimated = true,
     .on_processor = true,
     .from_outside = true},
    {.type = FigureType::true_times_of_addresses,
     .name = "true",
     .heading = "times from samples",
     .estimated = true,
     .has_hooks = false,
     .on_processor = true,
     .from_outside = true},
    {.type = FigureType::gmon,
     .name = "gmon",
     .heading = "Total estimated",
     .estimated = true,
     .by_samples = true,
     .on_processor = true,
     .is_gmon = true},
    {.type = FigureType::gmon_clock,
     .name = "gmon",
     .heading = "Total estimated",
     .on_processor = true,
     .is_gmon = true},
    {.type = FigureType::gmon_counts,
     .name = "gmon",
     .heading = "without times",
     .timed = false,
     .on_processor = true,
     .is_gmon = true},
};

// Each type has its line, at its number.
constexpr bool are_in_order() {
  for (size_t i = 0; i < std::size(kTypes); ++i)
    if (size_t(kTypes[i].type) != i) return false;
  return std::size(kTypes) == size_t(kLastFigureType) + 1;
}
static_assert(are_in_order());

}  // namespace

const FigureProperties& properties_of(FigureType type) { return kTypes[size_t(type)]; }

FigureType figure_type_of(const prof_format::Header& header) {
  return std::ranges::find(kTypes, header.type, &FigureProperties::profile_type)->type;
}

}  // namespace prof
