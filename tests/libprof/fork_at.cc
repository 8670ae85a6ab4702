// fork_at [stacks | nested OUTER]: a program that forks at each instruction of the runtime that it comes to.
//
// Addresses of instructions in libprof.so, in hex, are on standard input. Functions with hooks call one another, over and
// over in the same way: a round. First a breakpoint (int3) stands on all these instructions, and is taken away where the
// program comes, until rounds come to none any more. Then, one after the other, a breakpoint stands on each instruction that
// was come to: its handler, which is a signal handler like any other, takes it away and forks. The child goes on in the
// middle of the hook, to the end of its round and through another one, says how often it called each function, and ends. The
// parent reads the child's profile, and goes on in the same hook.
//
// A breakpoint and not single steps, because each signal is a switch for the hooks that ask for those (PROFTYPE=time): with
// steps they would never come to what follows when there was none.
//
// Where all signals are blocked (heavy paths, see state.h) there is no fork: no handler but that of a trap can come there.
//
// The handler has hooks itself at every second instruction; without arguments each has its turn with and without. With
// `stacks' a part of each round runs in coroutines, on a signal stack and in another thread. With `nested' there is a
// breakpoint at OUTER as well, when the hook there fills the last frame of a chunk: its handler has hooks, and it is these
// that the others interrupt.
//
// Prints "calls NAME N" for the parent, "forks N", and "bad" with an address for each child that did not end as it should, or
// whose profile says something else than the child itself.

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "hooked.h"
#include "recorded_calls.h"

namespace {

enum Function {
  top,
  middle,
  other,
  leaf,
  thrower,
  level0,
  level1,
  level2,
  level3,
  step,
  resume,
  handle,
  first,
  second,
  third,
  fresh,
  kFunctions
};
constexpr const char* kNames[] = {"top",    "middle", "other",  "leaf",   "thrower", "level0", "level1", "level2",
                                  "level3", "step",   "resume", "handle", "first",   "second", "third",  "fresh"};
using Counts = long[kFunctions];
Counts made;   // by this process
Counts* told;  // by a child, in memory that it shares with its parent
bool is_child;
int rounds;

}  // namespace

#define DEFINE(f)                 \
  extern "C" int f##_hooked(int); \
  HOOKED(f##_hooked);             \
  extern "C" int f##_hooked_body(int x)

DEFINE(leaf) {
  ++made[leaf];
  return x + 1;
}
DEFINE(middle) {
  ++made[middle];
  return leaf_hooked(x) + leaf_hooked(x);
}
DEFINE(other) {
  ++made[other];
  return leaf_hooked(x);
}
DEFINE(top) {
  ++made[top];
  return middle_hooked(x) + middle_hooked(x) + other_hooked(x) + middle_hooked(x) + leaf_hooked(x);
}

// Tail calls, round and round.
#define DEFINE_TAIL_CALL(f, kind, to) \
  extern "C" int f##_hooked(int);     \
  kind(f##_hooked, to##_hooked);      \
  extern "C" int f##_hooked_body(int x)

DEFINE_TAIL_CALL(first, HOOKED_TAIL, second) { return ++made[first], x - 1; }
DEFINE_TAIL_CALL(second, HOOKED_TAIL, third) { return ++made[second], leaf_hooked(x) - 1; }
DEFINE_TAIL_CALL(third, HOOKED_JUMP, first) { return ++made[third], x; }

// Frames that are gone.
namespace {
jmp_buf place;
}
DEFINE(thrower) {
  ++made[thrower];
  if (x > 0) return thrower_hooked(x - 1);
  longjmp(place, 1);
}

// More frames than there are in a chunk; of four functions, for a longer recursion would be folded.
namespace {
constexpr int kDepth = 168;
int call_level(Function, int (*next)(int), int x);
}  // namespace
extern "C" int level1_hooked(int), level2_hooked(int), level3_hooked(int);
DEFINE(level0) { return call_level(level0, level1_hooked, x); }
DEFINE(level1) { return call_level(level1, level2_hooked, x); }
DEFINE(level2) { return call_level(level2, level3_hooked, x); }
DEFINE(level3) { return call_level(level3, level0_hooked, x); }

// Functions of 16 bytes. Each is called in one round only: the first calls of a function are not like those that follow.
#define FRESH_FUNCTIONS "16000"
asm(".text\n"
    ".balign 16\n"
    ".type fresh_hooked, @function\n"
    "fresh_hooked:\n"
    ".rept " FRESH_FUNCTIONS
    "\n"
    ".balign 16\n"
    "        call *_profin@GOTPCREL(%rip)\n"
    "        call *_profout@GOTPCREL(%rip)\n"
    "        ret\n"
    ".endr\n"
    ".size fresh_hooked, . - fresh_hooked\n"
    "fresh_end:\n");
extern "C" char fresh_hooked[], fresh_end[];

// Coroutines.
namespace {
constexpr int kFibers = 2;
ucontext_t resumer, fibers[kFibers];
char stacks[kFibers][32768];
bool are_passing_on;  // to one another
}  // namespace
DEFINE(step) {
  ++made[step];
  swapcontext(&fibers[x], are_passing_on ? &fibers[!x] : &resumer);
  return leaf_hooked(x);
}
DEFINE(resume) {
  ++made[resume];
  swapcontext(&resumer, &fibers[x]);
  return leaf_hooked(x);
}
namespace {
void fork_if_wanted();
}
DEFINE(handle) {
  ++made[handle];
  fork_if_wanted();
  return leaf_hooked(x);
}

namespace {

int (*const kAddresses[])(int) = {top_hooked,    middle_hooked, other_hooked,  leaf_hooked,   thrower_hooked,
                                  level0_hooked, level1_hooked, level2_hooked, level3_hooked, step_hooked,
                                  resume_hooked, handle_hooked, first_hooked,  second_hooked, third_hooked};

void call_often() {
  top_hooked(rounds);
  other_hooked(rounds);
}

void call_and_jump() {
  first_hooked(5);
  second_hooked(rounds % 2 + 1);
}

void call_deep() { level0_hooked(kDepth); }

void jump_out() {
  if (setjmp(place) == 0) thrower_hooked(3);
  leaf_hooked(rounds);
}

void call_what_is_new() {
  char* function = fresh_hooked + 16 * rounds;
  if (function >= fresh_end) return;
  for (int i = 0; i < 3; ++i, ++made[fresh]) reinterpret_cast<void (*)()>(function)();
}

void run_fiber(int fiber) {
  step_hooked(fiber);
  step_hooked(fiber);
}

void prepare_fibers() {
  for (int i = 0; i < kFibers; ++i) {
    getcontext(&fibers[i]);
    fibers[i].uc_stack = {stacks[i], 0, sizeof stacks[i]};
    fibers[i].uc_link = &resumer;
    makecontext(&fibers[i], reinterpret_cast<void (*)()>(run_fiber), 1, i);
  }
}

void resume_fibers() {
  are_passing_on = false;
  prepare_fibers();
  for (int i = 0; i < 3 * kFibers; ++i) resume_hooked(i % kFibers);
}

// From the upper stack to the lower one first.
void pass_on() {
  are_passing_on = true;
  prepare_fibers();
  resume_hooked(1);
  resume_hooked(0);
}

void use_signal_stack() { raise(SIGUSR1); }

[[noreturn]] void end_child();
void* run_thread(void*) {
  top_hooked(1);
  if (is_child) end_child();  // it has no other thread
  return nullptr;
}

void begin_thread() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, run_thread, nullptr) != 0) std::abort();
  pthread_join(thread, nullptr);
}

std::vector<void (*)()> parts = {call_often, call_and_jump, call_deep, jump_out, call_what_is_new};

// Begins with another part each time, so that a breakpoint is not met on the same way each time.
void run_round() {
  for (size_t i = 0; i < parts.size(); ++i) parts[(size_t(rounds) + i) % parts.size()]();
  ++rounds;
}

int function_of(uint64_t pc) {
  constexpr uint64_t kCall = 6;  // bytes
  const uint64_t function = pc - kCall, first = reinterpret_cast<uint64_t>(fresh_hooked);
  if (function >= first && function < reinterpret_cast<uint64_t>(fresh_end)) return fresh;
  for (int i = 0; i < fresh; ++i) {
    if (function == reinterpret_cast<uint64_t>(kAddresses[i])) return i;
  }
  return kFunctions;
}

// False if the profile cannot be read, or has calls of other functions.
bool count_recorded(const std::string& path, Counts* counts) {
  std::map<uint64_t, uint64_t> calls;
  if (!RecordedCalls::read(path, &calls)) return false;
  for (const auto& [pc, count] : calls) {
    const int function = function_of(pc);
    if (function == kFunctions) return false;
    (*counts)[function] += long(count);
  }
  return true;
}

// The breakpoints: what stood there, by address.
std::map<char*, char> breakpoints;
std::vector<char*> met;
bool forks;
int forked, bad;
char* base;
// Where a handler is interrupted that is to be interrupted itself, else null; and where that is to happen.
char* outer;
std::set<char*> inner;
bool is_handler_hooked;
const char* fork_at;  // where the handler that runs has interrupted a hook and is to fork

void set_breakpoint(char* at) {
  if (breakpoints.count(at)) return;
  breakpoints[at] = *at;
  *at = '\xcc';
}
void remove_breakpoint(char* at) {
  *at = breakpoints.at(at);
  breakpoints.erase(at);
}

// Holds back the signal of PROFTYPE=sample, whose handler may come to breakpoints. (Not sigprocmask: the signal is one that
// the C library keeps for itself.)
class WithoutSamples {
 public:
  WithoutSamples() {
    const uint64_t all_but_traps = ~(uint64_t(1) << (SIGTRAP - 1));
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all_but_traps, &before_, sizeof before_);
  }
  ~WithoutSamples() { syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_); }
  WithoutSamples(const WithoutSamples&) = delete;

 private:
  uint64_t before_ = 0;
};

void remove_breakpoints() {
  const WithoutSamples held_back;
  while (!breakpoints.empty()) remove_breakpoint(breakpoints.begin()->first);
}

void complain(const char* at, const char* what, int number) {
  std::printf("bad %lx %s %d\n", static_cast<unsigned long>(at - base), what, number);
  ++bad;
}

// The call whose hook was interrupted was begun by the parent, and both make it. So the child may count one more than its
// profile.
void compare(const char* at, pid_t child) {
  const char* directory = std::getenv("PROFDIR");
  const std::string path = std::string(directory ? directory : ".") + "/prof." + std::to_string(child);
  Counts recorded = {};
  if (!count_recorded(path, &recorded)) return complain(at, "leaves a bad profile:", child);
  long missing = 0;
  for (int i = 0; i < kFunctions; ++i) {
    const long difference = (*told)[i] - recorded[i];
    if (difference < 0 || difference > 1) complain(at, kNames[i], int(difference));
    missing += difference;
  }
  if (missing > (outer ? 2 : 1)) complain(at, "calls missing:", int(missing));
  unlink(path.c_str());
}

void fork_if_wanted() {
  const char* at = fork_at;
  if (!at) return;
  fork_at = nullptr;
  std::memset(told, 0, sizeof *told);
  ++forked;
  const pid_t child = fork();
  if (child == 0) {
    is_child = true;
    std::memset(made, 0, sizeof made);
    return;
  }
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    complain(at, "cannot fork", 0);
  } else if (status != 0) {
    complain(at, "child's status", status);
  } else {
    compare(at, child);
  }
}

// Before the hook that fills the last frame of a chunk.
int call_level(Function level, int (*next)(int), int x) {
  ++made[level];
  if (x == 3 && outer && !is_child) set_breakpoint(outer);
  return x > 0 ? next(x - 1) : 0;
}

void on_breakpoint(int, siginfo_t*, void* data) {
  auto* context = static_cast<ucontext_t*>(data);
  auto& pc = context->uc_mcontext.gregs[REG_RIP];
  --pc;
  char* at = reinterpret_cast<char*>(pc);
  remove_breakpoint(at);
  inner.erase(at);
  if (at == outer) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (char* instruction : inner) set_breakpoint(instruction);
    handle_hooked(2);
    remove_breakpoints();
    return;
  }
  if (sigismember(&context->uc_sigmask, SIGUSR1)) return;
  if (!forks) {
    met.push_back(at);
    return;
  }
  fork_at = at;
  if (is_handler_hooked) {
    handle_hooked(1);
  } else {
    fork_if_wanted();
  }
}

// In a child that has come to the end of a round.
void end_child() {
  is_child = false;
  run_round();
  std::memcpy(told, made, sizeof made);
  _exit(0);
}

void set_breakpoints(const std::vector<char*>& instructions) {
  const WithoutSamples held_back;
  if (outer) {
    inner = {instructions.begin(), instructions.end()};
    inner.erase(outer);
    return;
  }
  for (char* at : instructions) set_breakpoint(at);
}

void try_at(char* at) {
  const int before = forked;
  set_breakpoints({at});
  for (int i = 0; i < 3 && forked == before; ++i) {
    run_round();
    if (is_child) end_child();
  }
  remove_breakpoints();
}

void find_what_is_met(const std::vector<char*>& instructions) {
  set_breakpoints(instructions);
  size_t before;
  do {
    before = met.size();
    for (int i = 0; i < 8; ++i) run_round();
  } while (before != met.size());
  remove_breakpoints();
  std::sort(met.begin(), met.end());
  met.erase(std::unique(met.begin(), met.end()), met.end());
}

void on_signal(int) { handle_hooked(2); }

void catch_signals() {
  struct sigaction action = {};
  action.sa_sigaction = on_breakpoint;
  action.sa_flags = SA_SIGINFO;
  std::memset(&action.sa_mask, 0xff, sizeof action.sa_mask);  // all: with PROFTYPE=sample one of the C library's comes
  sigaction(SIGTRAP, &action, nullptr);
  static char signal_stack[65536];
  const stack_t stack = {signal_stack, 0, sizeof signal_stack};
  sigaltstack(&stack, nullptr);
  action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigaction(SIGUSR1, &action, nullptr);
}

std::vector<char*> read_instructions() {
  Dl_info info;
  void* hook = dlsym(RTLD_DEFAULT, "_profin");
  if (!hook || !dladdr(hook, &info)) std::exit(2);
  base = static_cast<char*>(info.dli_fbase);
  std::vector<char*> result;
  std::string word;
  while (std::cin >> word) result.push_back(base + std::stoull(word, nullptr, 16));
  if (result.empty()) std::exit(2);
  return result;
}

void make_writable(const std::vector<char*>& instructions) {
  constexpr uintptr_t kPage = 4096;
  const auto [first, last] = std::minmax_element(instructions.begin(), instructions.end());
  const auto start = reinterpret_cast<uintptr_t>(*first) / kPage * kPage, end = reinterpret_cast<uintptr_t>(*last) + 1;
  if (mprotect(reinterpret_cast<void*>(start), end - start, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "stacks") parts.insert(parts.end(), {resume_fibers, pass_on, use_signal_stack, begin_thread});
  told = static_cast<Counts*>(mmap(nullptr, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const std::vector<char*> instructions = read_instructions();
  make_writable(instructions);
  if (what == "nested") {
    parts = {call_deep};
    outer = base + std::stoull(argc > 2 ? argv[2] : "", nullptr, 16);
  }
  catch_signals();
  run_round();
  find_what_is_met(instructions);
  forks = true;
  for (size_t i = 0; i < met.size(); ++i) {
    is_handler_hooked = i % 2 == 1;
    try_at(met[i]);
    if (what != "") continue;
    is_handler_hooked = !is_handler_hooked;
    try_at(met[i]);
  }
  for (int i = 0; i < kFunctions; ++i) std::printf("calls %s_hooked %ld\n", kNames[i], made[i]);
  std::printf("forks %d\n", forked);
  return bad != 0;
}
