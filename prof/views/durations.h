// Times in the unit that fits: ns, us, ms or s. A number and its unit are one word, so that a column stays one word for
// awk and the like; "us" is ASCII everywhere.

#ifndef PROF_VIEWS_DURATIONS_H
#define PROF_VIEWS_DURATIONS_H

#include <string>

namespace prof {

// With three digits: "1.23ms", "210us", "1234s"; "0" if nothing is left of it.
std::string duration(double seconds);

// A range with one unit, that of its upper end: "0.5-1.2s". The ends have two digits, each rounded away from the other.
std::string duration_range(double low, double high);

}  // namespace prof

#endif
