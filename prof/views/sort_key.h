// What lines are sorted by.

#ifndef PROF_VIEWS_SORT_KEY_H
#define PROF_VIEWS_SORT_KEY_H

namespace prof {

// All but names from the greatest on; per_call is the total time of a call.
enum class SortKey { self, total, calls, per_call, name };

}  // namespace prof

#endif
