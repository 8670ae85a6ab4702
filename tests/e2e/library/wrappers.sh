# A library that is loaded before the C library wraps its functions, some of which libprof.so has as well. The wrappers go on to
# be called when both libraries are rewritten.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >wrappers.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
static int calls;
typedef int prctl_function(int option, long a, long b, long c, long d);
typedef long syscall_function(long number, long a, long b, long c, long d, long e, long f);
int prctl(int option, long a, long b, long c, long d) {
  ++calls;
  return ((prctl_function*)dlsym(RTLD_NEXT, "prctl"))(option, a, b, c, d);
}
long syscall(long number, long a, long b, long c, long d, long e, long f) {
  ++calls;
  return ((syscall_function*)dlsym(RTLD_NEXT, "syscall"))(number, a, b, c, d, e, f);
}
__attribute__((destructor)) static void report(void) { printf("wrapped %d\n", calls); }
C
cat >host.c <<'C'
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
  for (int i = 0; i < 5; ++i) syscall(SYS_getpid);
  printf("%d\n", prctl(PR_GET_DUMPABLE));
  return 2;
}
C
compile plain/wrappers.so wrappers.c -O1 -shared -fPIC
library wrappers.so
compile host host.c -O1
rewrite host --no-imports
libc=$(ldd ./host | awk '$1 ~ /^libc\.so/ { print $3 }')
cp "$libc" plain
profld -o "copy/${libc##*/}" "$libc"

LD_PRELOAD=$PWD/plain/wrappers.so run ./host
cp stdout expected
grep -qx 'wrapped 6' expected || fail "the program itself: $(cat expected)"
for program in host host.prof; do
  LD_PRELOAD=$PWD/copy/wrappers.so LD_LIBRARY_PATH=copy PROFDIR=. run ./$program
  [ "$status" = 2 ] && cmp -s stdout expected || fail "$program: status $status, $(cat stdout stderr)"
done
