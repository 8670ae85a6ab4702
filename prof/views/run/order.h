// The order of functions and modules in the views: --sort.

#ifndef PROF_VIEWS_RUN_ORDER_H
#define PROF_VIEWS_RUN_ORDER_H

#include <cstdint>
#include <string>

#include "prof/model/tree/tree.h"

namespace prof {

// All but names from the greatest on; per_call is the total time of a call. From p50 on: of durations (latency.cc).
enum class SortKey { self, total, calls, per_call, name, p50, p90, p99, max };

// "per-call", as --sort has it.
const char* name_of(SortKey key);

inline bool is_of_durations(SortKey key) { return key >= SortKey::p50; }

// What decides over the place of a function. Refers to its parts.
struct Ranked {
  const FunctionSum& sum;
  const std::string& name;
  uint64_t address = 0;
};

// Whether `a` comes before `b`: the greater number first, names by their bytes. What is alike by the key is put in
// order by self time, what was waited, calls, name and address.
bool comes_before(SortKey key, const Ranked& a, const Ranked& b);

}  // namespace prof

#endif
