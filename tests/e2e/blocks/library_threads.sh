# prof run --libs: counters of libraries, which all threads increment, lose nothing, whenever and however a second thread begins,
# and whenever a library is loaded; nor do those of the C library in a forked child.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache PROFDIR=profiles

cat >step.c <<'C'
volatile long NAME_sum, NAME_other;
__attribute__((noipa)) static void NAME_once(long i) {
  if (i & 1) NAME_sum = i;
  else NAME_other = i;
}
void NAME_step(long times) { for (long i = 0; i < times; i++) NAME_once(i); }
C
cat >maker.c <<'C'
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
// Threads that nobody tells of.
void run_apart(void (*work)(void)) {
  int ids[2];
  for (int i = 0; i < 2; i++) {
    char *stack = malloc(1 << 16);
    ids[i] = clone((int (*)(void *))work, stack + (1 << 16), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD, 0);
  }
  work();
  for (int i = 0; i < 2; i++) waitpid(ids[i], 0, 0);
}
C
cat >early.c <<'C'
#include <pthread.h>
void first_step(long);
static pthread_t thread;
static void *work(void *unused) { first_step(3000000); return unused; }
__attribute__((constructor)) static void begin(void) { pthread_create(&thread, 0, work, 0); }
void wait_early(void) { first_step(3000000); pthread_join(thread, 0); }
C
cat >program.c <<'C'
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
void first_step(long);
static void (*step)(long);
static void *work(void *unused) { step(3000000); return unused; }
static void work_apart(void) { step(3000000); }
static void *wait_long(void *unused) { pause(); return unused; }
static void threads(void) {
  pthread_t ids[3];
  for (int i = 0; i < 3; i++) pthread_create(&ids[i], 0, work, 0);
  step(3000000);
  for (int i = 0; i < 3; i++) pthread_join(ids[i], 0);
}
// Whether the increments of the C library, which profld lists, are locked.
static int see(struct dl_phdr_info *info, size_t size, void *found) {
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == 0x6f507269 && strstr(info->dlpi_name, "libc.so")) {
      const int *list = (const int *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
      *(int *)found = ((const unsigned char *)list)[list[2]] == 0xf0;
    }
  return 0;
}
static void *find(const char *library, const char *name) {
  void *found = dlsym(dlopen(library, RTLD_NOW), name);
  return found ? found : (puts(dlerror()), exit(9), NULL);
}
int main(int argc, char **argv) {
  const char *way = argv[1];
  step = first_step;
  step(1000000);  // without a lock
  if (!strcmp(way, "threads")) {
    threads();
  } else if (!strcmp(way, "opened")) {  // by the only thread, and then by one of several
    step = find("libsecond.so", "second_step");
    threads();
    pthread_t longest;
    pthread_create(&longest, 0, wait_long, 0);
    step = find("libthird.so", "third_step");
    threads();
  } else if (!strcmp(way, "apart")) {
    ((void (*)(void (*)(void)))find("libmaker.so", "run_apart"))(work_apart);
  } else if (!strcmp(way, "early")) {
    ((void (*)(void))find("libearly.so", "wait_early"))();
  } else if (!strcmp(way, "again")) {
    for (int i = 0; i < 3; i++) {
      void *library = dlopen("libsecond.so", RTLD_NOW);
      step = dlsym(library, "second_step");
      threads();
      dlclose(library);
    }
  } else if (!strcmp(way, "elsewhere")) {  // a namespace of its own
    void *library = dlmopen(LM_ID_NEWLM, "libsecond.so", RTLD_NOW);
    step = library ? dlsym(library, "second_step") : (puts(dlerror()), NULL);
    threads();
  } else {
    for (int i = 0; i < 300; i++) {
      const pid_t child = fork();
      int is_locked = 0, status;
      if (child == 0) _exit((dl_iterate_phdr(see, &is_locked), is_locked));
      waitpid(child, &status, 0);
      if (WEXITSTATUS(status) != 1) return 4;
    }
  }
  return 3;
}
C
mkdir lib
for library in first second third; do
  sed "s/NAME/$library/g" step.c >$library.c
  compile lib/lib$library.so $library.c -O1 -shared -fPIC -Wl,-soname,lib$library.so
done
compile lib/libmaker.so maker.c -O1 -shared -fPIC
compile lib/libearly.so early.c -O1 -shared -fPIC lib/libfirst.so
compile program program.c -D_GNU_SOURCE -O1 -g lib/libfirst.so "-Wl,-rpath,$PWD/lib" "-Wl,--disable-new-dtags"

# profiled_way WAY: runs it until all its libraries have copies.
profiled_way() {
  local try
  for try in 1 2; do
    rm -rf profiles && mkdir profiles
    run prof run --libs ./program "$1"
    [ "$status" = 3 ] || fail "$1: status $status, $(cat stderr)"
  done
  ! grep -q 'with hooks\|no copy\|may be too small' stderr || fail "$1: $(cat stderr)"
  run prof --json $(compgen -G 'profiles/prof.*' | grep -v samples)
  [ "$status" = 0 ] && mv stdout profile.json || fail "$1: prof --json: $(cat stderr)"
}
# called NAME TIMES
called() {
  local calls
  calls=$(jq "[.functions[] | select(.name == \"$1\") | .calls] | add" profile.json)
  [ "$calls" = "$2" ] || fail "$way: $1 called $calls times, not $2"
}

for way in threads apart early; do
  profiled_way $way
  case $way in threads) times=13000000 ;; apart) times=10000000 ;; early) times=7000000 ;; esac
  called first_once $times
done
way=opened
profiled_way $way
called first_once 1000000
called second_once 12000000
called third_once 12000000
way=again
profiled_way $way
called second_once 36000000
way=elsewhere
profiled_way $way
called first_once 1000000
called second_once 12000000

# Where the program, which is not rewritten, finds the C library's pthread_create, so that nobody tells of threads.
way=untold
profld -b --no-hooks -o copy.so lib/libfirst.so || fail "profld libfirst.so"
rm -rf profiles && mkdir profiles
LD_PRELOAD=$PWD/copy.so run ./program threads
[ "$status" = 3 ] || fail "untold: $status $(cat stderr)"
run prof --json profiles/prof.*
[ "$status" = 0 ] && mv stdout profile.json || fail "untold: prof --json: $(cat stderr)"
called first_once 13000000

# A program that makes such threads itself.
echo 'void first_step(long), run_apart(void (*)(void)); static void work(void) { first_step(3000000); } int main(void) { run_apart(work); return 3; }' >alone.c
compile alone alone.c maker.c -O1 lib/libfirst.so "-Wl,-rpath,$PWD/lib"
way=alone
rm -rf profiles && mkdir profiles
run prof run --type auto --libs ./alone
[ "$status" = 3 ] && grep -q 'threads that nothing tells of may begin in it' stderr || fail "alone: $status $(cat stderr)"
run prof --json $(compgen -G 'profiles/prof.*' | grep -v samples)
[ "$status" = 0 ] && mv stdout profile.json || fail "alone: prof --json: $(cat stderr)"
called first_once 9000000

# What the C library does after a fork, in parent and child at the same time.
way=forks
profiled_way $way
called fork 300
called __run_postfork_handlers 600
