#include "heavy.h"

#include "libprof/kernel/syscall.h"
#include "state.h"

namespace libprof {

uint64_t run_heavy(State* s, uint64_t (*function)(State*, uint64_t), uint64_t argument) {
  // Blocking signals may itself be refused, by a SIGSYS whose handler has hooks: they come here from below. From above
  // it is a thread that another handler took away from here by siglongjmp.
  const uint64_t here = as_word(__builtin_frame_address(0));
  if (s->is_left || here < load(&s->entering_at)) return 0;
  store(&s->entering_at, here);
  uint64_t mask;
  const bool are_blocked = block_signals(&mask);
  uint64_t result = 0;
  if (!s->is_left && !s->is_busy) {
    store(&s->is_busy, 1u);
    result = run_on_stack(private_stack_top(s), function, s, argument);
    store(&s->is_busy, 0u);
  }
  store(&s->entering_at, uint64_t(0));
  if (are_blocked) restore_signals(mask);
  return result;
}

uint32_t has_strangers;

// The word is the number of the thread that has the lock. That may have ended in a system call, by a filter or in the
// handler of SIGSYS; or it is this one, which such a handler took away from there. Between system calls all is whole.
// Where the program has forbidden to ask for it, threads have none, and nobody can tell whether they have ended.
void lock(uint32_t* word) {
  constexpr uint64_t kLookEvery = 1024;  // tries
  constexpr uint32_t kNobody = 0, kUnknown = ~0u;
  const State* s = load(&has_strangers) == 0 ? get_state() : nullptr;
  const int32_t id = s && s->tid != 0 ? s->tid : thread_id();
  const uint32_t own = id > 0 ? uint32_t(id) : kUnknown;
  for (uint64_t tries = 1; !exchange_if_shared(word, kNobody, own); ++tries) {
    const uint32_t owner = load(word);
    if (owner == own && own != kUnknown) return;
    const bool has_ended = tries % kLookEvery == 0 && owner != kNobody && owner != kUnknown &&
                           syscall4(__NR_tkill, owner, 0) == kErrorNoProcess;
    if (has_ended && exchange_if_shared(word, owner, own)) return;
    syscall4(__NR_sched_yield, 0);
  }
}

void unlock(uint32_t* word) { __atomic_store_n(word, 0, __ATOMIC_RELEASE); }

}  // namespace libprof
