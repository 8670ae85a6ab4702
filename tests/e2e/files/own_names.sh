# Programs and libraries that have, and export, functions with the names of those that the runtime calls or is called by: both
# go on to use their own, and the runtime's calls are not counted as the program's.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >names.h <<'C'
#include <stdio.h>
#define COUNTED __attribute__((noipa))
#define NAMES(DO) DO(_profin) DO(_profout) DO(_proftail) DO(_profjump) DO(_proflibin) DO(_proflibout) DO(_profload) \
  DO(_profprctl) DO(_profsyscall) DO(_proftracefull)
C
cat >own.c <<'C'
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "names.h"
static long asked, filled, registered, visited;
COUNTED void* dlsym(void* handle, const char* name) { return ++asked, NULL; }
COUNTED void* dlopen(const char* name, int flags) { return ++asked, NULL; }
COUNTED int sigfillset(sigset_t* set) { return ++filled, -1; }
#ifndef STATIC  // where the C library calls these itself
COUNTED int dl_iterate_phdr(int (*visit)(void), void* data) { return ++visited, 0; }
COUNTED int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) { return ++registered, 0; }
COUNTED int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void* dso) { return ++registered, 0; }
#endif
#define DEFINE(name) static long calls_of##name; COUNTED long name(long x) { return ++calls_of##name + x; }
NAMES(DEFINE)
#ifdef LIBRARY
long of_library(long x);
#else
static long of_library(long x) { return x; }
#endif
COUNTED static long visit(long x) { return x + 1; }
int main(void) {
  long sum = visit(1) + of_library(2);
#define CALL(name) sum += name(3);
  NAMES(CALL)
  NAMES(CALL)
  sum += dlsym(0, "x") != 0;
  printf("setuid %d setegid %d\n", setuid(getuid()), setegid(getegid()));
  fflush(stdout);
  if (fork() == 0) _exit(visit(1) != 2);
  wait(NULL);
  printf("sum %ld\ncalls visit 1\n", sum);
#define PRINT(name) printf("calls " #name " %ld\n", calls_of##name);
  NAMES(PRINT)
  printf("calls dlsym %ld\ncalls dlopen 0\ncalls sigfillset %ld\ncalls dl_iterate_phdr %ld\ncalls __register_atfork %ld\n", asked, filled,
         visited, registered);
  return 0;
}
C
cat >library.c <<'C'
#include "names.h"
#define DEFINE(name) __attribute__((noipa)) static long library##name(long x) { return x + 2; }
NAMES(DEFINE)
#define CALL(name) x = library##name(x);
long of_library(long x) {
  NAMES(CALL)
  return x;
}
C
# A child of fork in each run: its visit is counted in a profile of its own.
same() { # WHAT: the copy said and counted the same
  cmp -s expected stdout || fail "$1: $(diff expected stdout | head -n 4 | paste -sd ';') $(head -n 2 stderr)"
  sed 's/^calls visit 1$/calls visit 2/' stdout >counted
  same_calls "$1" <counted
}
for link in $links; do
  # shellcheck disable=SC2046
  compile "$link" own.c -O1 -I. $(link_flags "$link") $([[ $link == static* ]] && echo -DSTATIC || echo -Wl,--export-dynamic)
  rewrite "$link" --no-imports
  "./$link" >expected || fail "$link: the original fails"
  for type in $types sample; do
    rm -rf profiles
    mkdir profiles
    PROFTYPE=$type PROFDIR=profiles run "./$link.prof"
    [ "$status" = 0 ] || fail "$link, $type: exit status $status"
    same "$link, $type"
  done
done

# A library's copy, in a program with such names that is a copy, too, or is not.
compile plain/libown.so library.c -O1 -I. -shared -fPIC -Wl,-soname,libown.so
library libown.so
compile host own.c -O1 -I. -DLIBRARY plain/libown.so -Wl,--export-dynamic
rewrite host --no-imports
LD_LIBRARY_PATH=plain ./host >expected || fail "host: the original fails"
for host in host host.prof; do
  rm -rf profiles
  mkdir profiles
  PROFDIR=profiles LD_LIBRARY_PATH=copy run "./$host"
  [ "$status" = 0 ] && cmp -s expected stdout || fail "$host: exit status $status, $(diff expected stdout | head -n 4 | paste -sd ';')"
  recorded_calls
  grep -qx 'of_library 1' recorded || fail "$host: of_library: $(cat recorded)"
done
