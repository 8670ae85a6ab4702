// Cycles of functions that call each other, and an order in which callers come after what they call.
//
// The search goes through the graph depth first, from each function in the order of their numbers, along the calls in
// the order in which they are given. A function that it meets again while it is still below it closes a cycle: all
// functions between the two belong to it. The function that it came to first is the head. Functions are numbered as
// they are left, all members of a cycle with the number of their head.
//
// The result is that of any search for strongly connected components. But which member is the head, and in which order
// the members stand, depends on the way, which is gprof's: so its report can be made of this. gprof recurses, and walks
// along its lists; here is a stack, and who is in whose cycle is kept as sets that are joined (union-find), so that
// graphs of a hundred thousand functions take no time.

#ifndef PROF_MODEL_TREE_CALL_CYCLES_H
#define PROF_MODEL_TREE_CALL_CYCLES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace prof {

// By function.
struct CallCycles {
  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> numbers;  // from 1 on without gaps, callees before their callers, members of a cycle alike
  std::vector<uint32_t> heads;    // of its cycle; itself if it is in none with others
  std::vector<uint32_t> next;     // after it in the list of its cycle, which begins with the head; kNone for the last
};

struct CallsToSearch {
  uint32_t functions = 0;                                           // how many there are
  std::function<size_t(uint32_t function)> count;                   // of the functions that it calls
  std::function<uint32_t(uint32_t function, size_t index)> callee;  // each of these
};

// What the search does, step by step; null: nobody wants to know.
struct CallSearchSteps {
  std::function<void(uint32_t function, size_t depth)> enters;
  std::function<void(uint32_t member, uint32_t head)> joins;
  std::function<void(uint32_t function, uint32_t number)> numbers;
};

CallCycles find_call_cycles(const CallsToSearch& calls, const CallSearchSteps& steps = {});

}  // namespace prof

#endif
