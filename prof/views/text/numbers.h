// Numbers as the table and the tree show them; times in the unit that fits: ns, us, ms or s. A number and its unit are one word,
// so that a column stays one word for awk and the like; "us" is ASCII everywhere. And what part of all self
// time, or of all calls, a function or a module has (Share).

#ifndef PROF_VIEWS_TEXT_NUMBERS_H
#define PROF_VIEWS_TEXT_NUMBERS_H

#include <cstdint>
#include <string>

#include "prof/model/analysis/analysis.h"

namespace prof {

// A time in the unit that fits (duration), or its range, "0.05-0.12s", if it is not known to a tenth. With the mark ?
// and no range if it is doubtful (model/tree/tree.h).
std::string shown_time(const Analysis& analysis, double cycles, const Range& range, bool is_doubtful);

// Whether a time is shown as the range that it may be in (model/tree/probe_cost.h): that is wide, and does not all show as
// zero. `units` to the second.
bool is_shown_as_range(const Analysis& analysis, uint64_t cycles, const Range& range, double units);

// The same in one unit, which is not written: a time with three places, or its range, each end rounded to two digits, away from the other ("0.05-0.12").
std::string shown_time(const Analysis& analysis, uint64_t cycles, const Range& range, double units, bool is_doubtful);

// A number of calls, with the mark ? if it is doubtful, or ~ if it is estimated.
std::string shown_calls(const CallNode& node);
std::string shown_calls(const FunctionSum& sum);

// What was waited, of an elapsed time and a time on a processor with their ranges, as shown_time shows it. For analyses
// of two runs.
std::string shown_waiting(const Analysis& analysis, uint64_t elapsed, uint64_t on_processor, const Range& elapsed_range,
                          const Range& processor_range, bool is_doubtful);
std::string shown_waiting(const Analysis& analysis, uint64_t elapsed, uint64_t on_processor, const Range& elapsed_range,
                          const Range& processor_range, double units, bool is_doubtful);

// With so many places.
std::string decimal(double x, int places);

// The end of a range: two digits, rounded away from the other end, and at most three places.
std::string two_digits(double x, bool upwards);

// With three digits: "1.23ms", "210us", "1234s"; "0" if nothing is left of it.
std::string duration(double seconds);

// A range with one unit, that of its upper end: "0.5-1.2s". The ends have two digits, each rounded away from the other.
std::string duration_range(double low, double high);

}  // namespace prof

#endif
