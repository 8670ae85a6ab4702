# prof run --libs: a program that has given up system calls, which the dynamic linker does not need, loads a library that has
# no copy yet.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache
cat >plugin.c <<'C'
int plugin(int x) { return x + 1; }
C
cat >program.c <<'C'
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define NUMBER offsetof(struct seccomp_data, nr)
#define FLAGS offsetof(struct seccomp_data, args[2])
int main(int argc, char** argv) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NUMBER),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FLAGS),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (argc < 2 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 2;
  void* plugin = dlopen(argv[1], RTLD_NOW);
  if (!plugin) return 3;
  printf("%d\n", ((int (*)(int))dlsym(plugin, "plugin"))(4));
  return 0;
}
C
compile plugin.so plugin.c -shared -fPIC -O1
compile program program.c -O1
run ./program "$PWD/plugin.so"
[ "$status" = 0 ] && [ "$(cat stdout)" = 5 ] || fail "the program itself: status $status"
run prof run --libs ./program "$PWD/plugin.so"
[ "$status" = 0 ] && [ "$(cat stdout)" = 5 ] || fail "status $status, $(head -n 3 stderr)"
