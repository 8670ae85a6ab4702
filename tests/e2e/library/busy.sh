# Plugins come and go at one address while other threads are busy in another library, whose tree of calls grows all the time.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >busy.c <<'C'
static __thread unsigned long seed;
static int one(int), two(int), three(int), four(int), five(int), six(int);
static int (*const functions[])(int) = {one, two, three, four, five, six};
long counts[6];
static int go_on(int n, int depth) {
  __atomic_fetch_add(&counts[n], 1, __ATOMIC_RELAXED);
  int sum = n;
  for (int i = 0; i < 2 && depth > 0; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    sum += functions[(seed >> 33) % 6](depth - 1);
  }
  return sum;
}
#define DEFINE(name, n) __attribute__((noinline)) static int name(int depth) { return go_on(n, depth) + n; }
DEFINE(one, 0) DEFINE(two, 1) DEFINE(three, 2) DEFINE(four, 3) DEFINE(five, 4) DEFINE(six, 5)
int be_busy(int number) {
  seed += number;
  return one(3);
}
C
cat >host.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { kThreads = 3, kTimes = 300 };
int be_busy(int number);
extern long counts[6];
static volatile int is_over;
static long calls;
static void* run(void* number) {
  do {
    be_busy((int)(long)number);
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  } while (!is_over);
  return NULL;
}
int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, run, (void*)i);
  long sum = 0;
  for (int i = 0; i < kTimes; ++i) {
    void* plugin = dlopen(argv[1 + i % 2], RTLD_NOW);
    if (!plugin) return puts(dlerror()), 1;
    sum += ((int (*)(int))dlsym(plugin, "work"))(i);
    dlclose(plugin);
  }
  is_over = 1;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  static const char* const names[] = {"one", "two", "three", "four", "five", "six"};
  for (int i = 0; i < 6; ++i) printf("calls %s %ld\n", names[i], counts[i]);
  printf("calls be_busy %ld\ncalls ping %d\ncalls pong %d\ncalls work %d\n", calls, 2 * kTimes / 2, 3 * kTimes / 2, kTimes);
  return sum == 0;
}
C
plugin() {
  cat >"$1.c" <<C
__attribute__((noinline)) int $1(int x) { return x * $2 + 1; }
int work(int x) {
  int sum = 0;
  for (int i = 0; i < $2; ++i) sum += $1(i + x);
  return sum;
}
C
  compile "plain/$1.so" "$1.c" -O1 -shared -fPIC
  library "$1.so"
}
plugin ping 2
plugin pong 3
compile plain/libbusy.so busy.c -O1 -shared -fPIC -Wl,-soname,libbusy.so
library libbusy.so
compile host host.c -O1 plain/libbusy.so
rewrite host --no-imports
for host in host host.prof; do
  for PROFTYPE in time elapsed adaptive count sample; do
    for PROFSIZE in "" 3000; do
      export PROFTYPE PROFSIZE
      [ -n "$PROFSIZE" ] || unset PROFSIZE
      rm -rf profiles
      mkdir profiles
      PROFDIR=profiles LD_LIBRARY_PATH=copy run ./$host ping.so pong.so
      [ "$status" = 0 ] && [ ! -s stderr ] || fail "$host $PROFTYPE: status $status, says $(tail -n 2 stdout stderr)"
      prof --json profiles/prof.* 2>/dev/null | jq -r '.functions | group_by(.name)[] | "\(.[0].name) \(map(.calls) | add)"' >recorded
      sed -n '/ 0$/d; s/^calls //p' stdout | sort >wanted
      grep -wFf <(cut -d ' ' -f 1 wanted) recorded | sort | cmp -s - wanted || fail "$host $PROFTYPE $PROFSIZE: $(diff wanted <(sort recorded) | grep -v main | paste -sd ';')"
    done
  done
done
