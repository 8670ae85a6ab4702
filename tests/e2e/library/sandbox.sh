# A program gives up its right to make system calls through a C library that is rewritten: the hooks in the library, which it
# goes on calling, make none and do not read the time-stamp counter.
. "${0%/*}/../common.inc"

cat >strict.c <<'C'
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
  char text[100];
  char* volatile heap = malloc(1000);  // no more is asked of the kernel below
  free(heap);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) return 2;
  for (int i = 0; i < 100; ++i) {
    snprintf(text, sizeof text, "%d %g\n", i, i / 3.0);
    char* copy = strdup(text);
    write(1, copy, strlen(copy));
    free(copy);
  }
  syscall(SYS_exit, 7);
}
C
compile strict strict.c -O1
run ./strict
[ "$status" = 7 ] && [ "$(wc -l <stdout)" = 100 ] || fail "the program itself: status $status, $(head -n 2 stdout stderr)"
mv stdout expected

mkdir libraries profiles
libc=$(ldd ./strict | awk '$1 ~ /^libc\.so/ { print $3 }')
profld -o "libraries/${libc##*/}" "$libc"
profld -o strict.prof strict
for program in strict strict.prof; do
  for type in time count; do
    PROFTYPE=$type PROFDIR=$PWD/profiles LD_LIBRARY_PATH=$PWD/libraries run ./$program
    [ "$status" = 7 ] && cmp -s stdout expected || fail "$program, $type: status $status, $(head -n 2 stdout stderr)"
  done
done
