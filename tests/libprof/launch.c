// launch [CALL[:ARGUMENT=VALUE] ERRNO]... -- PROGRAM [ARG...]: runs a program under a kernel that refuses some system calls:
// those whose numbered argument (0 to 5) has that value fail with that errno, all others work. CALL is a number. The word
// "notsc" instead takes away the right to read the time-stamp counter.

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct sock_filter filter[256];
static unsigned short used;
static void emit(struct sock_filter instruction) { filter[used++] = instruction; }
static struct sock_filter load(size_t offset) {
  return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset);
}
static struct sock_filter unless_equal_skip(unsigned value, unsigned char n) {
  return (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n);
}
static struct sock_filter answer(unsigned value) { return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value); }

int main(int argc, char** argv) {
  int i = 1;
  for (; i < argc && strcmp(argv[i], "--"); i++) {
    if (!strcmp(argv[i], "notsc")) {
      if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV)) return 125;
      continue;
    }
    unsigned call, argument, value;
    const int n = sscanf(argv[i], "%u:%u=%u", &call, &argument, &value);
    if ((n != 1 && n != 3) || i + 1 >= argc || used > 200) return 125;
    emit(load(offsetof(struct seccomp_data, nr)));
    emit(unless_equal_skip(call, n == 3 ? 3 : 1));
    if (n == 3) {
      emit(load(offsetof(struct seccomp_data, args) + 8 * argument));
      emit(unless_equal_skip(value, 1));
    }
    emit(answer(SECCOMP_RET_ERRNO | (unsigned)atoi(argv[++i])));
  }
  emit(answer(SECCOMP_RET_ALLOW));
  if (i + 1 >= argc) return 125;
  const struct sock_fprog program = {used, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 125;
  execv(argv[i + 1], argv + i + 1);
  return 125;
}
