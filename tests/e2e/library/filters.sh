# A program that is not rewritten, and one that is, make a seccomp filter through a C library that is rewritten, and go on calling
# it: the filter kills for what the program itself does not need. Or they give up the time-stamp counter.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int jail(const char* how);
static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }
int main(int argc, char** argv) {
  static char buffer[65536];
  static int numbers[500];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  qsort(numbers, 500, sizeof numbers[0], compare);  // it asks the kernel once how much memory there is
  if (jail(argv[1])) return 2;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 500; ++i) numbers[i] = (i * 7919 + round) % 1000;
    qsort(numbers, 500, sizeof numbers[0], compare);
    printf("%d %s %ld\n", numbers[round], strchr("a,b,c", ','), strtol("12345", NULL, 10) + strtol("7", NULL, 10));
  }
  return 7;
}
C
compile program program.c "$programs/jail.c" -O1
rewrite program --no-imports
cp -L "$(ldd ./program | awk '$1 ~ /^libc\.so/ { print $3 }')" plain/
library libc.so.6
for how in prctl syscall counter; do
  for host in program program.prof; do
    for PROFTYPE in time elapsed adaptive count sample; do
      export PROFTYPE
      with_copies ./$host $how
      [ "$status" = 7 ] || fail "$host $how $PROFTYPE: status $status"
      same_calls "$host $how $PROFTYPE" <<<$'calls qsort 21\ncalls printf 20\ncalls strtol 40'
    done
  done
done
