// filter N: makes N random seccomp filters, has the kernel apply each to a system call with random arguments, and
// compares its answer with run_filter's. Prints how many answers were errors, permissions and deaths, and each that
// differs.

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <vector>

#include "libprof/kernel/allowed_calls.h"

using namespace libprof;

static std::mt19937_64 random_bits(1);
static uint32_t below(uint32_t n) { return uint32_t(random_bits() % n); }
// Small numbers and those with few bits make conditions that hold now and then.
static uint32_t constant() {
  switch (below(4)) {
    case 0:
      return below(4);
    case 1:
      return 1u << below(32);
    case 2:
      return uint32_t(-1) << below(32);
    default:
      return uint32_t(random_bits());
  }
}
static uint64_t argument() { return uint64_t(constant()) << 32 | constant(); }
static FilterInstruction make(int code, uint32_t k, uint32_t if_true = 0, uint32_t if_false = 0) {
  return {uint16_t(code), uint8_t(if_true), uint8_t(if_false), k};
}

// One that may stand anywhere; `left` instructions follow it, of which the last is an answer.
static FilterInstruction any(uint32_t left) {
  static const int arithmetic[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR, BPF_AND, BPF_XOR, BPF_LSH, BPF_RSH};
  static const int jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
  const int source = below(2) ? BPF_X : BPF_K;
  switch (below(12)) {
    case 0:
    case 1: {
      const int operation = arithmetic[below(9)];
      uint32_t k = constant();
      if (operation == BPF_DIV && k == 0) k = 1;
      if (operation == BPF_LSH || operation == BPF_RSH) k &= 31;
      return make(BPF_ALU | operation | source, source == BPF_X ? 0 : k);
    }
    case 2:
      return make(BPF_ALU | BPF_NEG, 0);
    case 3:
    case 4:
      return make(BPF_JMP | jumps[below(4)] | source, source == BPF_X ? 0 : constant(), below(left), below(left));
    case 5:
      return below(4) ? make(BPF_LDX | BPF_IMM, constant()) : make(BPF_JMP | BPF_JA, below(left));
    case 6:
      return make(BPF_MISC | (below(2) ? BPF_TAX : BPF_TXA), 0);
    case 7:
      return make((below(2) ? BPF_LD : BPF_LDX) | BPF_MEM, below(BPF_MEMWORDS));
    case 8:
      return make(below(2) ? BPF_ST : BPF_STX, below(BPF_MEMWORDS));
    case 9:
      return below(4) ? make(BPF_LD | BPF_IMM, constant()) : make((below(2) ? BPF_LD : BPF_LDX) | BPF_W | BPF_LEN, 0);
    default:
      return make(BPF_LD | BPF_W | BPF_ABS, uint32_t(offsetof(SystemCall, arguments)) + 4 * below(12));
  }
}

static std::vector<FilterInstruction> make_filter() {
  std::vector<FilterInstruction> f = {make(BPF_LD | BPF_W | BPF_ABS, 4),
                                      make(BPF_JMP | BPF_JEQ | BPF_K, kThisArchitecture, 1, 0),
                                      make(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                                      make(BPF_LD | BPF_W | BPF_ABS, 0),
                                      make(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0),
                                      make(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  // The kernel wants every word of the memory written before it is read.
  for (uint32_t i = 0; i < BPF_MEMWORDS; i++) f.push_back(make(BPF_ST, i));
  const uint32_t length = 4 + below(40);
  for (uint32_t i = 0; i < length; i++) f.push_back(any(length - i));
  if (below(8) == 0) {
    f.push_back(make(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  } else if (below(8) == 0) {
    f.push_back(make(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77));
  }
  // The answer tells as much of the result as an error number can.
  f.push_back(make(BPF_ALU | BPF_AND | BPF_K, 0x7ff));
  f.push_back(make(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO | 0x800));
  f.push_back(make(BPF_RET | BPF_A, 0));
  return f;
}

int main(int argc, char** argv) {
  const int wanted = argc > 1 ? atoi(argv[1]) : 100;
  auto* answer =
      static_cast<volatile int*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int errors = 0, permissions = 0, deaths = 0, differences = 0;
  for (int n = 0; n < wanted; n++) {
    std::vector<FilterInstruction> filter = make_filter();
    SystemCall call = {SYS_getppid, kThisArchitecture, 0, {}};
    for (uint64_t& a : call.arguments) a = argument();
    *answer = -1;
    const pid_t child = fork();
    if (child == 0) {
      const sock_fprog program = {uint16_t(filter.size()), reinterpret_cast<sock_filter*>(filter.data())};
      if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(1);
      const uint64_t* a = call.arguments;
      *answer = syscall(SYS_getppid, a[0], a[1], a[2], a[3], a[4], a[5]) < 0 ? errno : 0;
      _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || (WIFEXITED(status) && WEXITSTATUS(status) != 0)) {
      printf("filter %d is not accepted\n", n);
      differences++;
      continue;
    }
    const uint32_t ours = run_filter(filter.data(), filter.size(), call), action = ours & kFilterAction;
    bool same;
    if (WIFSIGNALED(status)) {
      deaths++;
      same = action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD;
    } else if (*answer == 0) {
      permissions++;
      same = action == SECCOMP_RET_ALLOW;
    } else {
      errors++;
      same = ours == (SECCOMP_RET_ERRNO | uint32_t(*answer));
    }
    if (!same) {
      printf("filter %d: the kernel's answer is %d (status %d), run_filter's %#x\n", n, *answer, status, ours);
      differences++;
    }
  }
  printf("%d errors, %d permissions, %d deaths\n", errors, permissions, deaths);
  return differences != 0;
}
