// How the runtime starts and ends with the program, and where the program's code comes into it: hooks, the code of
// records, and the C library's fork.
//
// In a dynamic program the loader runs the constructor and the destructor of libprof.so. Hooks may run before the
// constructor does (IFUNC resolvers, other constructors); the first hook of the program does the same work.
//
// A rewritten program may load a library that was rewritten for another runtime: one for libprof.so, the other for
// libprof-sampler.so. Both have the same names, so what both call is the program's, which stands first in the search
// for symbols. The other one does nothing, and may be unloaded with the library.
//
// In a static program profld makes _profstart (start.S) the entry point. Nothing is set up there: no relocation
// of this image has been applied, and there is no thread pointer. It gets one here, to a block of zeros that is large
// enough for the program's own thread-local storage, of which libprof_state is a part: it lies at a negative offset as
// large as that storage. When libc later sets up its own block, the thread-local word there is 0, and begin_thread
// carries the state over. A program without libc may set another thread pointer: see thread_pointer.cc.

#include <elf.h>

#include "libprof/clock/times.h"
#include "libprof/data/objects.h"
#include "libprof/data/settings.h"
#include "libprof/file/block_counters.h"
#include "libprof/hooks/hook_selection.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/next_function.h"
#include "libprof/kernel/syscall.h"
#include "libprof/profile_type.h"
#include "libprof/stack/shadow_stack.h"
#include "libprof/stack/tail_calls.h"
#include "libprof/trace/trace.h"
#include "libraries.h"
#include "namespaces.h"
#include "process.h"
#include "sandbox.h"
#include "thread_pointer.h"
#include "threads.h"

namespace libprof {

// Hooks, the code of records and the C library's fork come here first. The thread may not have begun, or be that of a
// forked child, which has its parent's state. What they want is done by others then (shadow_stack.cc, tail_calls.cc,
// trace.cc, threads.cc), who need not know how threads begin: to begin one takes all the rest of the runtime.

namespace {

// The calling thread's, which begins now if it has not.
State* begun(State* s, uint64_t slot) { return s && load(&s->top) != 0 && !s->is_left ? s : begin_thread(slot); }

// Another place for a record, see find_place.
uint64_t place_of(uint64_t place, uint64_t length) {
  if (const uint64_t in_sink = place_in_sink()) return in_sink;
  char here;
  return find_place(begun(get_state(), as_word(&here)), place, length);
}

void begin_child() {
  if (State* s = get_state()) leave_wiped_state(s);
  leave_block_counters_of_parent();
  leave_trace_of_parent();
  char here;
  // There may be no hook to begin the child's thread.
  if (profile_type == prof_format::kAddresses || has_block_counters() || has_shared_counters() || has_trace())
    begin_thread(as_word(&here));
}

}  // namespace

// The hooks, when the fast path does not suffice: see hooks.S, also for `slot`, `pc` and `now`. s may be null, and its
// top may be 0: then this is the first hook of a thread or, after a fork, of a process.
extern "C" [[gnu::visibility("hidden")]] void enter_slow(State* s, uint64_t slot, uint64_t pc) {
  s = begun(s, slot);
  if (!s) return;
  if (s->is_busy) return enter_while_busy(s, pc);
  if (!arrive_if_expected(s, slot, pc)) enter(s, slot, pc);
}

extern "C" [[gnu::visibility("hidden")]] void leave_slow(State* s, uint64_t slot, uint64_t now) {
  if (load(&s->top) == 0) leave_wiped_state(s);
  if (load(&s->top) != 0 && !s->is_left) leave(s, slot, now);
}

// Before a jump after the enter hook of another function. `jump`: the instruction. When anything is not as it should
// be, the function jumped to is entered as if it had been called.
extern "C" [[gnu::visibility("hidden")]] void tail_slow(State* s, uint64_t slot, const uint8_t* jump) {
  if (!has_stack(s) || !jump_to_known(s, slot, jump)) enter_slow(s, slot, end_of_jump_to_known(jump));
}

// Before a jump that leads to the hook with that pc, or to none (find_end_of_jump).
extern "C" [[gnu::visibility("hidden")]] void jump_slow(State* s, uint64_t slot, uint64_t pc) {
  if (!has_stack(s)) return leave_slow(s, slot, 0);
  const uint64_t now = stamp(s);
  if (!jump_to_sought(s, slot, pc, now)) leave_slow(s, slot, now);
}

// Called by the code of a record that came upon another one while it took its place, or whose place is not in front of
// the limit. `end`: of the place that it found; to be changed if that is none. `length`: of the record, in bytes.
extern "C" [[gnu::visibility("hidden")]] void trace_full(uint64_t* end, uint64_t length) {
  if (distance_to_first != 0) return in_first(trace_full)(end, length);
  *end = place_of(*end - length, length) + length;
}

// The same for programs that an older profld has rewritten, which give the place. They take it in one instruction, so
// it is the one that they know.
extern "C" [[gnu::visibility("hidden")]] void trace_full_at(uint64_t* place, uint64_t length) {
  if (distance_to_first != 0) return in_first(trace_full_at)(place, length);
  *place = place_of(*place, length);
}

extern "C" [[gnu::weak, gnu::noplt, gnu::visibility("default")]] int __register_atfork(void (*prepare)(),
                                                                                       void (*parent)(),
                                                                                       void (*child)(), void* library);

extern "C" [[gnu::weak, gnu::noplt, gnu::visibility("default")]] int pthread_atfork(void (*prepare)(), void (*parent)(),
                                                                                    void (*child)());

// The program's syscall with the number of fork, or of clone without memory or a stack of its own.
extern "C" [[gnu::visibility("hidden")]] int64_t watched_fork(int64_t number, uint64_t a, uint64_t b, uint64_t c,
                                                              uint64_t d, uint64_t e) {
  const int64_t result = unchecked_syscall(number, a, b, c, d, e, 0);
  if (result == 0) in_first(begin_child)();
  return result;
}

// The first that runs in a thread or process which a system call of a static program has made: `number`, one of
// kTaskCalls (linker-rewrite/x86/system_calls.h), with `first` as its first argument.
//
// A thread that has its parent's thread pointer has its State, too, or none: it must not begin one of its own. The
// arguments of clone3 lie in memory that the parent may have given up already, unless it waits. So of these only those
// of a process are looked at: threads by clone3 are taken to have a thread pointer, as those of C libraries do.
extern "C" [[gnu::visibility("hidden")]] void begin_task(uint64_t first, uint64_t number) {
  constexpr uint64_t kParentWaits = 0x4000, kSetsThreadPointer = 0x80000;  // CLONE_VFORK, CLONE_SETTLS
  const bool shares_memory = number != __NR_fork && process && process->owns_counters;
  if (!shares_memory) return begin_child();
  uint64_t flags = first;
  if (number == __NR_clone3) {
    if (thread_id() != process_id())
      flags = kSetsThreadPointer;
    else
      flags = is_readable(first) ? *reinterpret_cast<const uint64_t*>(first) : 0;
  }
  if ((flags & kParentWaits) != 0) return;
  char here;
  State* s = get_state();
  if (!s && (flags & kSetsThreadPointer) != 0) s = begin_thread(as_word(&here));
  if (s && s->tid == thread_id()) return;
  uint64_t mask;
  const bool are_blocked = block_signals(&mask);
  begin_block_counters_of_stranger();
  if (are_blocked) restore_signals(mask);
}

// Has begin_child called in the children that the C library forks.
static void watch_forks() {
  if (auto* of_glibc = library_function("__register_atfork", __register_atfork)) {
    of_glibc(in_first(expect_fork), nullptr, in_first(begin_child), nullptr);
  } else if (auto* of_musl = library_function("pthread_atfork", pthread_atfork)) {
    of_musl(in_first(expect_fork), nullptr, in_first(begin_child));
  }
}

namespace {

constexpr uint64_t kSetThreadPointer = 0x1002;           // ARCH_SET_FS
constexpr uint64_t kThreadControlSize = 2 * kPage;       // above the thread pointer, for what libc keeps there
constexpr uint64_t kSelfWord = 0, kSelfPointerWord = 2;  // words of the thread control block that hold its address

void (*program_exit)();  // what the kernel gave the program to run at exit; null on Linux so far

extern "C" {
[[gnu::visibility("hidden")]] extern const Elf64_Ehdr __ehdr_start;
[[gnu::visibility("hidden")]] extern const Elf64_Dyn _DYNAMIC[];
[[gnu::visibility("hidden")]] extern const char _end[];
}

// Whether the program calls the hooks of another runtime than this one, as far as its relocations have been applied.
bool has_program_another_runtime() {
  const uint64_t* words = find_hook_words(find_program());
  if (!words || load(words) == 0) return false;  // an audit library's runtime is there before the program is relocated
  return load(words) < as_word(&__ehdr_start) || load(words) >= as_word(_end);
}

void at_exit() {
  end_process();
  if (program_exit) program_exit();
}

[[gnu::constructor, gnu::used]] void start_dynamic(int argc, char** argv, char** environment) {
  if (find_first_copy()) return watch_forks();
  // Not every loader passes these.
  if (!initial_stack && argc > 0 && argv && environment == argv + argc + 1 &&
      reinterpret_cast<uint64_t*>(argv)[-1] == uint64_t(argc)) {
    initial_stack = reinterpret_cast<uint64_t*>(argv) - 1;
  }
  if (has_program_another_runtime()) {
    settings.is_read = settings.is_off = true;
    return;
  }
  watch_forks();
  find_loaded_libraries();
  if (const auto [headers, count, bias] = find_program(); count != 0)
    expect_threads_of(describe_object(headers, count, bias));
  find_watched_functions();
  char here;
  State* s = get_state();
  if (!s || s->top == 0) begin_thread(reinterpret_cast<uint64_t>(&here));
  count_libraries_loaded_before();
  stay_loaded();  // it calls the C library, which may be rewritten
  use_hooks_in_libraries();
}

[[gnu::destructor, gnu::used]] void end_dynamic() {
  if (distance_to_first == 0) end_process();
}

void relocate() {
  const uint64_t base = reinterpret_cast<uint64_t>(&__ehdr_start);
  uint64_t table = 0, size = 0;
  for (const Elf64_Dyn* d = _DYNAMIC; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_RELA) table = base + d->d_un.d_ptr;
    if (d->d_tag == DT_RELASZ) size = d->d_un.d_val;
  }
  for (auto* r = reinterpret_cast<const Elf64_Rela*>(table); size >= sizeof *r; ++r, size -= sizeof *r) {
    if (ELF64_R_TYPE(r->r_info) == R_X86_64_RELATIVE) {  // NOLINT(clang-analyzer-core.NullDereference): size would be 0
      *reinterpret_cast<uint64_t*>(base + r->r_offset) = base + uint64_t(r->r_addend);
    }
  }
}

// Returns the pointer; 0 if the kernel refuses memory or the thread pointer, without which the program could not run
// either.
uint64_t set_early_thread_pointer() {
  const uint64_t below = (uint64_t(-thread_word_offset()) + kPage - 1) / kPage * kPage;
  auto* block = static_cast<char*>(map_guarded(below + kThreadControlSize));
  if (!block) return 0;
  auto* control = reinterpret_cast<uint64_t*>(block + below);
  control[kSelfWord] = control[kSelfPointerWord] = reinterpret_cast<uint64_t>(control);
  return syscall4(__NR_arch_prctl, kSetThreadPointer, as_word(control)) == 0 ? as_word(control) : 0;
}

}  // namespace

// `stack`: rsp as the kernel set it; `exit_function`: rdx. Returns the rdx to start the program with: its start code
// registers that function to be called at exit.
extern "C" [[gnu::visibility("hidden")]] void (*start_static(const uint64_t* stack, void (*exit_function)()))() {
  relocate();
  ordered();
  program_exit = exit_function;
  initial_stack = stack;
  const uint64_t pointer = set_early_thread_pointer();
  if (!pointer) return exit_function;
  State* s = begin_thread(reinterpret_cast<uint64_t>(stack));
  if (s) mark_early(s);
  watch_thread_pointer(pointer);
  return at_exit;
}

}  // namespace libprof
