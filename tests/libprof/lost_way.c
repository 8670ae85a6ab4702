// lost_way HOW CALLS END: makes a few calls, then loses the way to its profile, or gains it again, and makes so many calls in
// ever new contexts. Prints "calls NAME N".
//
//   HOW   none; root, user: another root or user; userspace: a name space in which it is nobody, by syscall(2);
//         back: its own user again; descriptors: none is free; size: the limit on file sizes is lowered; unasked: the
//         same, and a filter for system calls refuses to tell that limit; full: so many KiB are left on the profile's
//         disk, named by END, for part of the calls, and then there is room again and as many are made in another
//         thread; vfork: a child of vfork has no descriptor for as many calls
//   END   exit, _exit

#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hooked.h"
#include "random_calls.h"

int begin(int);
HOOKED(begin);
static int refuse_to_tell_limits(void) {
  struct sock_filter instructions[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof instructions / sizeof *instructions, instructions};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int lose_way(const char* how) {
  struct rlimit limit = {3, 3};
  if (!strcmp(how, "root")) return chroot("/proc") || chdir("/");
  if (!strcmp(how, "user")) return setuid(65534);
  if (!strcmp(how, "userspace")) {
    // Inside a chroot nobody gets a name space of users, but root can do without.
    if (syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNS) && syscall(SYS_unshare, CLONE_NEWNS)) return 1;
    return chroot("/proc");
  }
  if (!strcmp(how, "back")) return seteuid(65534) || seteuid(0);
  if (!strcmp(how, "self")) return setuid(geteuid());
  if (!strcmp(how, "descriptors")) return setrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max = 100000;
  if (!strcmp(how, "size")) return setrlimit(RLIMIT_FSIZE, &limit);
  if (!strcmp(how, "unasked")) return setrlimit(RLIMIT_FSIZE, &limit) || refuse_to_tell_limits();
  return strcmp(how, "none");
}

static void call(long calls) {
  for (left = calls; left > 0;) descend(40);
}
static long begun;
int begin_body(int calls) {
  begun++;
  call(calls);
  return 0;
}
static void* call_in_thread(void* calls) {
  call((long)calls);
  return NULL;
}
static int fill_disk_for_a_while(long calls, long kib) {
  static char zeros[1024];
  call(calls);
  FILE* file = fopen("disk/filler", "w");
  struct statvfs disk;
  if (!file || statvfs("disk", &disk)) return 1;
  for (long n = (long)(disk.f_bavail * disk.f_bsize / 1024) - kib; n > 0; n--) fwrite(zeros, 1, sizeof zeros, file);
  if (fclose(file)) return 1;
  call(calls);
  pthread_t thread;
  return unlink("disk/filler") || pthread_create(&thread, NULL, call_in_thread, (void*)calls) || pthread_join(thread, NULL);
}

static int call_in_child(long calls) {
  const struct rlimit none = {3, 3};
  const pid_t pid = vfork();
  if (pid == 0) {
    if (setrlimit(RLIMIT_NOFILE, &none)) _exit(1);
    call(calls);
    _exit(0);
  }
  int status;
  return waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  begin(0);
  const long calls = atol(argv[2]);
  if (!strcmp(argv[1], "vfork")) {
    if (call_in_child(calls)) return 1;
  } else if (strcmp(argv[1], "full") ? lose_way(argv[1]) : fill_disk_for_a_while(calls, atol(argv[3]))) {
    return 1;
  }
  begin((int)calls);
  for (int i = 0; i < RANDOM_FUNCTIONS; i++) printf("calls r%d %ld\n", i, made[i]);
  printf("calls begin %ld\n", begun);
  fflush(stdout);
  if (!strcmp(argv[3], "_exit")) _exit(0);
  return 0;
}
