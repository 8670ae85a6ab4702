# Thread-local variables of libraries are right in every thread, and if the dynamic linker's reserve for them is used up,
# dlopen says so in its own words.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >work.c <<'C'
#include <string.h>
__thread long exported = 5;
static __thread long counted, initial = 7, __attribute__((aligned(64))) aligned = 9;
static __thread char large[1000];
__attribute__((noinline)) static long count(int x) {
  large[counted % sizeof large] = (char)x;
  return counted += x;
}
long work(int x) {
  long sum = 0;
  initial ^= x;
  for (int i = 0; i < 4; ++i) sum += count(x + i) * ++aligned + exported++;
  return sum + initial + large[counted % sizeof large] + ((long)&aligned & 63);
}
C
cat >host.c <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { kThreads = 8, kCalls = 200 };
static long (*work)(int);
static __thread long own = 3;
static void* run(void* number) {
  long sum = 0;
  for (int i = 0; i < kCalls; ++i) sum = sum * 5 + work(i + (int)(long)number) + own++;
  return (void*)sum;
}
static void use(long first) {
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], 0, run, (void*)(i + first));
  for (int i = 0; i < kThreads; ++i) {
    void* sum;
    pthread_join(threads[i], &sum);
    printf("%lx\n", (long)sum);
  }
}
// One that lives before the library is there.
static pthread_barrier_t barrier;
static void* wait_and_run(void* number) {
  pthread_barrier_wait(&barrier);
  return run(number);
}
int main(int argc, char** argv) {
  pthread_t early;
  pthread_barrier_init(&barrier, 0, 2);
  pthread_create(&early, 0, wait_and_run, (void*)50);
  void* library = dlopen(argv[1], RTLD_NOW);
  if (!library) {
    printf("%s\n", dlerror());
    return 1;
  }
  work = (long (*)(int))dlsym(library, "work");
  pthread_barrier_wait(&barrier);
  void* sum;
  pthread_join(early, &sum);
  printf("%lx %lx\n", (long)sum, (long)run(0));
  use(1);
  use(20);
  printf("calls work %d\ncalls count %d\n", kCalls * (2 * kThreads + 2), 4 * kCalls * (2 * kThreads + 2));
  return 6;
}
C
compile host host.c -O1 -Wl,--export-dynamic
rewrite host --no-imports
# The model of access to variables is the compiler's choice.
for model in "-ftls-model=global-dynamic" "-ftls-model=local-dynamic" "-ftls-model=initial-exec" "-mtls-dialect=gnu2"; do
  compile plain/work.so work.c -O1 -shared -fPIC "$model"
  library work.so
  for host in host host.prof; do
    [ "$model" != "-ftls-model=initial-exec" ] || export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096
    with_copies ./$host work.so
    [ "$status" = 6 ] || fail "$host, $model: status $status, $(tail -n 1 stdout)"
    same_calls "$host, $model" <stdout
    unset GLIBC_TUNABLES
  done
done

# The reserve is used up by a library that needs all that is left of it.
cat >greedy.c <<'C'
__thread char taken[SIZE] __attribute__((tls_model("initial-exec")));
int take(int i) { return taken[i]++; }
C
cat >greedy_host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW);
    printf("%s\n", library ? "loaded" : dlerror());
    if (library && dlsym(library, "work")) printf("%ld\n", ((long (*)(int))dlsym(library, "work"))(3));
  }
  return 0;
}
C
compile greedy_host greedy_host.c -O1
loads() { ./greedy_host "$@" | grep -qx loaded; }
least=0
most=65536
while [ $((most - least)) -gt 8 ]; do
  size=$(((least + most) / 16 * 8))
  compile greedy.so greedy.c -O1 -shared -fPIC -DSIZE=$size
  if loads ./greedy.so; then least=$size; else most=$size; fi
done
[ $least -gt 64 ] || fail "the reserve is $least bytes only"
compile greedy.so greedy.c -O1 -shared -fPIC -DSIZE=$least
compile plain/work.so work.c -O1 -shared -fPIC
library work.so
run ./greedy_host ./greedy.so plain/work.so
[ "$status" = 0 ] && [ "$(sed -n 2p stdout)" = loaded ] || fail "without profiling: status $status, $(cat stdout)"
mv stdout expected
run ./greedy_host ./greedy.so copy/work.so
[ "$status" = 0 ] && sed -n 2p stdout | grep -q 'cannot allocate memory in static TLS block$' || fail "used up: status $status, $(cat stdout)"
rm -rf profiles
mkdir profiles
PROFDIR=profiles GLIBC_TUNABLES=glibc.rtld.optional_static_tls=2048 run ./greedy_host ./greedy.so copy/work.so
cmp -s stdout expected || fail "with a larger reserve: $(cat stdout)"
same_calls "with a larger reserve" <<<$'calls work 1\ncalls count 4'
