// All system calls of the runtime ask here (syscall.h): so there are none here, nor anything that makes some.

#include "allowed_calls.h"

#include "words.h"

namespace libprof {

uint32_t is_sandboxed;

namespace {

constexpr uint32_t kMaxFilters = 32768;  // more than the kernel takes: instructions of all together

SeenFilter* newest_filter;
uint32_t all_is_forbidden;  // for how many reasons

}  // namespace

bool may_call(int64_t number, const uint64_t (&arguments)[6]) {
  if (load(&all_is_forbidden) != 0) return false;
  SystemCall call = {int32_t(number), kThisArchitecture, 0, {}};
  __builtin_memcpy(call.arguments, arguments, sizeof arguments);
  uint32_t left = kMaxFilters;
  for (SeenFilter* f = __atomic_load_n(&newest_filter, __ATOMIC_ACQUIRE); f && left != 0; f = f->next, --left) {
    const uint32_t action = run_filter(f->instructions, f->size, call) & kFilterAction;
    if (action != kFilterAllows && action != kFilterLogs) return false;
  }
  return true;
}

void obey_filter(SeenFilter* kept, const FilterInstruction* instructions, uint64_t size) {
  kept->size = size;
  __builtin_memcpy(kept->instructions, instructions, size * sizeof(FilterInstruction));
  kept->next = load(&newest_filter);
  while (!__atomic_compare_exchange_n(&newest_filter, &kept->next, kept, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

void forbid_all_calls() {
  __atomic_fetch_add(&all_is_forbidden, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&is_sandboxed, 1, __ATOMIC_SEQ_CST);
}

void undo_forbid_all_calls() { __atomic_fetch_sub(&all_is_forbidden, 1, __ATOMIC_SEQ_CST); }

}  // namespace libprof
