#include "state.h"

#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"

namespace libprof {

Process* process;

State* no_state() {
  static State unrecorded;
  return &unrecorded;
}

State* map_area() {
  char* start = reserve_memory(kAreaSize);
  if (!start) return nullptr;
  advise(start, kAreaSize, kAdviseWipeOnFork);
  auto* s = reinterpret_cast<State*>(start + kBelowState);
  if (open_memory(private_stack_top(s) - kPrivateStackSize, kPrivateStackSize + kPage + kFirstTableSize)) return s;
  unmap_area(s);
  return nullptr;
}

void unmap_area(State* s) { unmap_memory(area_of(s), kAreaSize); }

}  // namespace libprof
