# prof run --libs: counters of libraries lose nothing, whenever and however a second thread begins, and whenever a library is loaded;
# nor do those of the C library in a forked child. Threads that we are told of have counters of their own, others share them.
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
#include <unistd.h>
// Threads of this process that nobody tells of.
void run_bare(void (*work)(void)) {
  static int is_there[2];
  for (int i = 0; i < 2; i++) {
    char *stack = malloc(1 << 16);
    is_there[i] = 1;
    clone((int (*)(void *))work, stack + (1 << 16), CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_CHILD_CLEARTID, 0, 0, 0, &is_there[i]);
  }
  work();
  for (int i = 0; i < 2; i++) while (__atomic_load_n(&is_there[i], __ATOMIC_ACQUIRE)) usleep(1000);
}
// The same, each a process.
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
#include <stdint.h>
#include <sys/resource.h>
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
      const unsigned char *first = (const unsigned char *)list + list[2];
      *(int *)found = first[(uintptr_t)first % 8 == 7] == 0xf0;
    }
  return 0;
}
static void *work_little(void *unused) { step(10000); return unused; }
static pthread_barrier_t all;
static void *work_with_all(void *unused) { pthread_barrier_wait(&all); step(50000); return unused; }
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
  } else if (!strcmp(way, "bare")) {
    ((void (*)(void (*)(void)))find("libmaker.so", "run_bare"))(work_apart);
  } else if (!strcmp(way, "early")) {
    ((void (*)(void))find("libearly.so", "wait_early"))();
  } else if (!strcmp(way, "many")) {  // more than there ever are at a time, which end in any order
    pthread_t ids[5];
    for (int i = 0; i < 400; i++) {
      if (i >= 5) pthread_join(ids[i % 5], 0);
      pthread_create(&ids[i % 5], 0, work_little, 0);
    }
    for (int i = 0; i < 5; i++) pthread_join(ids[i], 0);
    threads();
  } else if (!strcmp(way, "children")) {  // that threads fork, and which have threads
    pthread_t longest, other;
    pthread_create(&longest, 0, wait_long, 0);
    for (int i = 0; i < 20; i++) {
      const pid_t child = fork();
      step(10000);
      if (child == 0) {
        pthread_create(&other, 0, work_little, 0);
        step(10000);
        pthread_join(other, 0);
        if (i % 2) exit(0);
        if (fork() == 0) _exit((step(10000), 0));
        wait(0);
        _exit(0);
      }
      waitpid(child, 0, 0);
    }
    threads();
  } else if (!strcmp(way, "later")) {  // makes threads that nobody tells of, when there are others
    pthread_t longest;
    pthread_create(&longest, 0, wait_long, 0);
    step(1000000);
    ((void (*)(void (*)(void)))find("libmaker.so", "run_apart"))(work_apart);
    threads();
  } else if (!strcmp(way, "found")) {  // one that nobody tells of is there before the first of which we are told
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = find("libc.so.6", "pthread_create");
    pthread_t other;
    pthread_barrier_init(&all, 0, 2);
    create(&other, 0, work_with_all, 0);
    threads();
    pthread_barrier_wait(&all);
    pthread_join(other, 0);
  } else if (!strcmp(way, "gone")) {  // a library is closed before a fork, and opened again in the child
    pthread_t other;
    pthread_create(&other, 0, wait_long, 0);
    void *library = dlopen("libsecond.so", RTLD_NOW);
    ((void (*)(long))dlsym(library, "second_step"))(1000);
    dlclose(library);
    const pid_t child = fork();
    if (child == 0) {
      pthread_create(&other, 0, work_little, 0);
      pthread_join(other, 0);
      step = find("libsecond.so", "second_step");
      pthread_create(&other, 0, work_little, 0);
      pthread_join(other, 0);
      step(500);
      exit(0);
    }
    waitpid(child, 0, 0);
  } else if (!strcmp(way, "narrow")) {  // no room for counters of their own
    pthread_t longest;
    pthread_create(&longest, 0, wait_long, 0);
    threads();
    const struct rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    pthread_t ids[100];
    pthread_barrier_init(&all, 0, 100);
    for (int i = 0; i < 100; i++) pthread_create(&ids[i], 0, work_with_all, 0);
    for (int i = 0; i < 100; i++) pthread_join(ids[i], 0);
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
compile low program.c -D_GNU_SOURCE -O1 -no-pie lib/libfirst.so "-Wl,-rpath,$PWD/lib" "-Wl,--disable-new-dtags"

# profiled_way WAY [PROGRAM]: runs it until all its libraries have copies.
profiled_way() {
  local try
  for try in 1 2; do
    rm -rf profiles && mkdir profiles
    run prof run --libs "./${2:-program}" "$1"
    [ "$status" = 3 ] || fail "$1: status $status, $(cat stderr)"
  done
  ! grep -q 'with hooks\|no copy\|may be too small' stderr || fail "$1: $(cat stderr)"
  mv stderr stderr.run
  run prof --json $(compgen -G 'profiles/prof.*' | grep -v samples)
  [ "$status" = 0 ] && mv stdout profile.json || fail "$1: prof --json: $(cat stderr)"
}
# called NAME TIMES
called() {
  local calls
  calls=$(jq "[.functions[] | select(.name == \"$1\") | .calls] | add" profile.json)
  [ "$calls" = "$2" ] || fail "$way: $1 called $calls times, not $2"
}

# Whether threads had counters in common, which takes long.
shared() { grep -q 'threads shared the counters of libraries' stderr.run || fail "$way: does not say that counters are shared: $(cat stderr.run)"; }
not_shared() { ! grep -q 'threads shared the counters of libraries' stderr.run || fail "$way: $(cat stderr.run)"; }

for way in threads apart bare early; do
  profiled_way $way
  case $way in threads) times=13000000 ;; apart | bare) times=10000000 ;; early) times=7000000 ;; esac
  called first_once $times
  case $way in apart) ;; bare) shared ;; *) not_shared ;; esac
done
way=opened
profiled_way $way
called first_once 1000000
called second_once 12000000
called third_once 12000000
not_shared
way=again
profiled_way $way
called second_once 36000000
not_shared
way=many
for program in program low; do
  profiled_way $way $program
  called first_once 17000000
  not_shared
done
way=children
profiled_way $way
called first_once 13900000
not_shared
way=later
profiled_way $way
called first_once 23000000
shared
way=found
profiled_way $way
called first_once 13050000
way=gone
profiled_way $way
called first_once 1010000
called second_once 11500
not_shared
way=narrow
profiled_way $way
called first_once 18000000
shared
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
