// Hooks that leave.
//
// The problem. Hooks tell how long each call took, but a pair of them takes fifty cycles, and most calls of most
// programs are shorter than that. Nobody wants to know how long these took: they are counted by their blocks, and
// samples say how much time they have together. Which functions they are is not known before the program runs.
//
// The way taken. Hooks are everywhere at first, and look at one call in sixteen or so (leave_hooks.S comes here). A
// function whose calls last less on average than its hooks may cost is left by them: of a budget of 2 % that is fifty
// pairs. So what is called often and is short loses its hooks after a hundred calls, what is long or called seldom
// never does. Where calls that last are nested in calls that last, hooks that stay may take more than the budget of a
// thread's time, each of them its part: then that limit is doubled.
//
// How they leave. A jump over the call of the hook is stored there: its two bytes lie in one aligned word (profld saw
// to that, libprof/format/hook_sites.h), so another thread runs the one instruction or the other. AMD documents that,
// Intel's processors do it, and others have relied on it for long (XRay, HotSpot). Only the bytes that are expected are
// replaced, and by one compare-and-exchange: a debugger's breakpoint stays. A forked child goes on with what its
// parent's hooks have left.
//
// Exits leave first, entries after them. So a hook of leaving never runs without its frame, and cannot take another
// one's. But calls that are open then have frames whose exits come no more. Such a frame is found to be gone by a later
// hook, as after longjmp or an exception, and is popped. That may be much later, where the hooks in between have left;
// so how long it was there says nothing, and nothing is counted. (The function is looked at, as if the call had been
// short: one that never ends otherwise is left, too.) A caller is at worst named wrong in the tree of calls, which
// nobody looks at here: contexts are those of samples.
//
// Imports. The thunk of an import is called from many places, and may only be left at each of them. The exit knows the
// place from its stack: the call of thunk_in stands in front of that of the import, which has five bytes or six.
//
// Code has to be writable. It is made so at the start: later a program may have given up the call that does it. Where
// it cannot be, hooks do nothing. The dynamic linker, if it writes into code, and programs may take the right to write
// away again. So before anything is stored, the kernel is asked to add 0 to the word, which it refuses without a signal
// where that is not allowed; then the right is asked for once more, and if there is none, hooks stay.
//
// Limits. A handler whose hooks have left is one without hooks: what life/threads.cc says of forks in such a one holds.
// Between the question and the store another thread may take the right away.

#include "leaving.h"

#include "libprof/clock/times.h"
#include "libprof/clock/tsc.h"
#include "libprof/data/settings.h"
#include "libprof/file/durations.h"
#include "libprof/format/hook_sites.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"
#include "libprof/profile_type.h"

namespace libprof {

using prof_format::HookEntry;
using prof_format::HookSites;

uint32_t hooks_leave;

namespace {

constexpr uint64_t kBetween = 16;  // calls of a thread, from one that is looked at to the next, on average
constexpr uint32_t kLeast = 8;     // calls of a function that were looked at before its hooks leave
constexpr uint32_t kMost = 64;     // as many count, older ones less and less
constexpr uint64_t kPercent = 100;
constexpr uint64_t kPeriod = uint64_t(1) << 26;  // cycles, at least, for which it is seen what hooks that stay take
constexpr uint64_t kProtectAll = 7;

// The two bytes that a call begins with, as one word, and those that jump over the rest of it.
constexpr uint16_t kHookCall = 0x15ff, kLongHookCall = 0xff48;
constexpr uint8_t kThunkCall = 0xe8;
constexpr uint16_t kJump = 0x00eb;
constexpr uint16_t jump_over(uint64_t call_size) { return uint16_t(kJump | (call_size - sizeof(uint16_t)) << 8); }

const HookSites* sites;          // of the program; null: it has no hooks that leave
uint64_t code_start, code_size;  // of the program's; whole pages
uint32_t is_unchangeable;        // code cannot be written any more

// What was seen of a function's calls.
struct Seen {
  uint32_t calls;
  uint32_t has_left;
  uint64_t cycles;  // how long they took together
};
Seen* seen;            // by function
uint64_t limit;        // cycles: functions whose calls last less are left
uint64_t limit_since;  // by the counter

uint64_t address_of(int32_t place) { return as_word(sites) + uint64_t(int64_t(place)); }
const HookEntry* entries() { return reinterpret_cast<const HookEntry*>(sites + 1); }
const uint32_t* first_calls() { return reinterpret_cast<const uint32_t*>(entries() + sites->entries); }
const int32_t* calls() { return reinterpret_cast<const int32_t*>(first_calls() + sites->functions + 1); }

// Null if no function of the program has that pc.
Seen* find(uint64_t pc, uint32_t* function) {
  uint32_t low = 0, high = sites->entries;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (address_of(entries()[middle].place) < pc)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == sites->entries || address_of(entries()[low].place) != pc) return nullptr;
  *function = entries()[low].function;
  return *function < sites->functions ? &seen[*function] : nullptr;
}

// Gives the program's code the right to be written. Returns 0 or -errno.
int64_t make_writable() { return syscall4(__NR_mprotect, code_start, code_size, kProtectAll); }

bool is_writable(uint64_t at) {
  constexpr uint64_t kWakeOnChange = 5, kPrivate = 128, kAddNothing = uint64_t(1) << 28;  // FUTEX_WAKE_OP, FUTEX_OP_ADD
  static uint32_t nobody_waits;
  return syscall6(__NR_futex, as_word(&nobody_waits), kWakeOnChange | kPrivate, 0, 0, at & ~uint64_t(3), kAddNothing) >=
         0;
}

bool may_write(uint64_t at) {
  if (is_writable(at) || (make_writable() == 0 && is_writable(at))) return true;
  store(&is_unchangeable, 1u);
  return false;
}

// Whether the bytes are there then.
bool replace(uint64_t at, uint16_t expected, uint16_t by) {
  auto* word = reinterpret_cast<uint16_t*>(at);
  if (load(word) == expected && may_write(at)) exchange_if_shared(word, expected, by);
  return load(word) == by;
}

// `end`: of the call of a hook. False: it stays.
bool leave_call(uint64_t end) {
  const uint64_t at = end - prof_format::kHookCallSize;
  if (prof_format::crosses_word(at)) return replace(at - 1, kLongHookCall, jump_over(prof_format::kHookCallSize + 1));
  return replace(at, kHookCall, jump_over(prof_format::kHookCallSize));
}

bool calls_thunk(uint64_t at) { return *reinterpret_cast<const uint8_t*>(at) == kThunkCall; }

bool leave_thunk_call(uint64_t at) {
  const uint16_t found = load(reinterpret_cast<const uint16_t*>(at));
  return replace(at, uint8_t(found) == kThunkCall ? found : 0, jump_over(prof_format::kThunkCallSize));
}

// If an exit cannot leave, the entries after it stay.
void leave_function(uint32_t function) {
  uint32_t i = first_calls()[function];
  while (i < first_calls()[function + 1] && leave_call(address_of(calls()[i]))) ++i;
}

// `pc`: of the import; `slot`: its exit's, above which the place that it was called from is.
void leave_import(uint64_t pc, const uint64_t* slot) {
  constexpr uint64_t kShortestCall = 5, kLongestCall = 7;  // of an import: with a prefix, or two
  const uint64_t thunk = pc - prof_format::kHookCallSize, exit = slot[1] - prof_format::kThunkCallSize;
  for (uint64_t length = kShortestCall; length <= kLongestCall; ++length) {
    const uint64_t entry = exit - length - prof_format::kThunkCallSize;
    if (!calls_thunk(entry)) continue;
    const int32_t distance = load(reinterpret_cast<const int32_t*>(entry + 1));
    if (entry + prof_format::kThunkCallSize + uint64_t(int64_t(distance)) != thunk) continue;
    if (leave_thunk_call(exit)) leave_thunk_call(entry);
    return;
  }
}

bool is_thunk(uint64_t pc) { return sites->thunks != 0 && pc >= address_of(sites->thunks); }

uint32_t next_look(State* s) {
  if (settings.budget == 0) return 1;
  s->random = s->random * 6364136223846793005 + 1442695040888963407;  // Knuth, MMIX
  return uint32_t(kBetween / 2 + (s->random >> 32) % kBetween);
}

// Hooks stay in the function of a call that was looked at, and in those of the calls before it.
void note_stay(State* s) {
  const uint64_t now = time_stamp(), period = now - load(&s->stays_since), stays = load(&s->stays) + kBetween;
  store(&s->stays, stays);
  if (period < kPeriod) return;
  // One of the threads raises it, and then it is seen what comes of that.
  const uint64_t raised = load(&limit_since);
  if (stays * hook_costs.pair * kPercent > period * settings.budget && now - raised > kPeriod &&
      exchange_if_shared(&limit_since, raised, now))
    store(&limit, 2 * load(&limit));
  store(&s->stays_since, now);
  store(&s->stays, uint64_t(0));
}

// Whether the hooks of the function that a call was of, which took so long, are to leave.
bool is_to_leave(State* s, Seen* f, uint64_t cycles) {
  const uint32_t now = load(&f->calls) + 1;
  const uint64_t all = load(&f->cycles) + cycles;
  store(&f->calls, now < kMost ? now : now / 2);
  store(&f->cycles, now < kMost ? all : all / 2);
  if (settings.budget == 0) return true;
  if (now < kLeast) return false;
  if (all / now < load(&limit)) return true;
  note_stay(s);
  return false;
}

const HookSites* sites_of(const ProgramHeaders& program) {
  for (uint64_t i = 0; i < program.count; ++i)
    if (program.start[i].p_type == prof_format::kHookSitesSegment && program.start[i].p_memsz >= sizeof(HookSites))
      return reinterpret_cast<const HookSites*>(program.bias + program.start[i].p_vaddr);
  return nullptr;
}

// A call of the node has ended that took so many cycles. Whether hooks leave its function.
bool look(State* s, Node* n, uint64_t cycles, uint32_t* function) {
  store(&s->until_look, next_look(s));
  if (!hooks_leave || is_unchangeable || settings.budget >= kPercent || load(&s->top) == 0 || s->is_left) return false;
  if (limit == 0) store(&limit, hook_costs.pair * kPercent / (settings.budget ? settings.budget : 1));
  Seen* f = find(load(&n->pc), function);
  if (!f || (!load(&f->has_left) && !is_to_leave(s, f, cycles))) return false;
  store(&f->has_left, 1u);
  store(&n->hooks_left, uint64_t(1));
  return true;
}

}  // namespace

bool has_leaving_hooks() { return sites != nullptr; }

void begin_leaving(const ProgramHeaders& program) {
  sites = sites_of(program);
  if (!sites || !check_tsc("it is not known how long calls last")) return;
  seen = static_cast<Seen*>(map_memory(sites->functions * sizeof(Seen)));
  if (!seen) return;
  const Object object = describe_object(program.start, program.count, program.bias);
  code_start = object.code_start / kPage * kPage;
  code_size = object.code_end - code_start;
  const int64_t result = settings.budget < kPercent ? make_writable() : 0;
  if (result != 0) {
    say("the program's code cannot be changed (", error_text(-result),
        "), so it is not known how long calls last; prof run --type time --latency changes none");
    return;
  }
  hooks_leave = 1;
}

// A call has ended that took so many cycles. `slot`: its exit's (hooks.S), where the return address of the hook is.
extern "C" [[gnu::visibility("hidden")]] void look_at_call(State* s, Node* n, const uint64_t* slot, int64_t cycles) {
  const uint64_t since = load(&s->thread->last_tsc), away = load(&s->away), pc = load(&n->pc);
  uint32_t function;
  if (look(s, n, cycles > 0 ? uint64_t(cycles) : 0, &function)) {
    if (is_thunk(pc))
      leave_import(pc, slot);
    else
      leave_function(function);
  }
  skip_time(s, since, away);
}

void look_at_gone_call(State* s, Node* n) {
  const uint32_t left = load(&s->until_look) - 1;
  store(&s->until_look, left);
  uint32_t function;
  // Nobody knows where an import was called from.
  if (int32_t(left) <= 0 && look(s, n, 0, &function) && !is_thunk(load(&n->pc))) leave_function(function);
}

}  // namespace libprof
