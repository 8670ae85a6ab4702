// Static programs that may set the thread pointer by rules of their own.
//
// The runtime finds what belongs to a thread by a word among its thread-local variables. A static program has none but
// those for which PT_TLS asks, and profld makes it ask for that word too. A C library looks there when it sets the
// thread pointer. A program without one may set it to any memory: then, where the word should be, there is something
// else, or nothing. profld cannot tell one from the other, but finds out which programs are in doubt
// (linker-rewrite/decide/threads.cc).
//
// In these the hooks are at first such as ask, each time, where the thread pointer leads. As long as it is the one that
// the runtime has set, all is well. When it is another for the first time, we look for the mark that profld has put in
// PT_TLS before the word. If it is there, the program keeps the rules, and the hooks become those that do not ask. If
// not, all hooks do nothing from then on, and the profile says so.
//
// The memory that should hold the mark may not be there (is_readable).

#include "thread_pointer.h"

#include "libprof/data/state.h"
#include "libprof/data/thread.h"
#include "libprof/format/map.h"
#include "libprof/hooks/hook_selection.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"

namespace libprof {

using prof_format::kThreadMark;

#pragma GCC visibility push(hidden)
extern "C" {
extern uint64_t thread_pointer_doubt;  // enum Doubt; profld sets the first, kDoubtful or kNone
State* find_state_of_doubtful();
Hook* hook_of_doubtful(uint64_t word);
}
#pragma GCC visibility pop

namespace {

enum Doubt : uint64_t { kNone = 0, kDoubtful = 1, kRefused = 2 };

constexpr uint64_t kGetThreadPointer = 0x1003;  // ARCH_GET_FS

uint64_t own_pointer;  // 0: not set yet

uint64_t present_pointer() {
  uint64_t pointer = 0;
  if (may_read_segments())
    asm volatile("rdfsbase %0" : "=r"(pointer));
  else
    syscall4(__NR_arch_prctl, kGetThreadPointer, as_word(&pointer));
  return pointer;
}

bool leads_to_word(uint64_t pointer) {
  const uint64_t word = pointer + uint64_t(thread_word_offset()), mark = word - sizeof kThreadMark;
  if (!is_readable(mark) || !is_readable(word)) return false;
  return __builtin_memcmp(reinterpret_cast<const void*>(mark), kThreadMark, sizeof kThreadMark) == 0;
}

State* word_at(uint64_t pointer) { return *reinterpret_cast<State**>(pointer + uint64_t(thread_word_offset())); }

// In whichever thread this is found first.
void give_up() {
  if (__atomic_exchange_n(&thread_pointer_doubt, uint64_t(kRefused), __ATOMIC_ACQ_REL) == kRefused) return;
  use_no_hooks();
  Process* p = process;
  if (!p || p->phase != kRecording) return;
  __atomic_fetch_or(&at<Header>(p->base, 0)->flags, prof_format::kGivenUp, __ATOMIC_RELAXED);
  say("the program has no thread-local storage where its headers ask for it; nothing is profiled from here on");
}

}  // namespace

// What get_state does while there is doubt.
State* find_state_of_doubtful() {
  if (load(&thread_pointer_doubt) == kRefused) return no_state();
  const uint64_t pointer = own_pointer ? present_pointer() : 0;
  if (pointer != own_pointer) {
    if (!leads_to_word(pointer)) {
      give_up();
      return no_state();
    }
    store(&thread_pointer_doubt, uint64_t(kNone));
    let_hooks_ask(false);
  }
  return word_at(pointer ? pointer : thread_pointer());
}

// The hook that is to run in the place of one that asks.
Hook* hook_of_doubtful(uint64_t word) {
  get_state();
  return hook_after_asking(word);
}

void watch_thread_pointer(uint64_t own) {
  own_pointer = own;
  if (load(&thread_pointer_doubt) == kDoubtful) let_hooks_ask(true);
}

bool has_thread_word() { return load(&thread_pointer_doubt) == kNone || find_state_of_doubtful() != no_state(); }

}  // namespace libprof
