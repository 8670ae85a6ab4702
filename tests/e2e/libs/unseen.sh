# prof run --libs: the program's libraries are profiled, and nobody else sees anything of it.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME="$PWD/the cache"

cat >own.c <<'C'
#include <zlib.h>
__attribute__((noipa)) static unsigned long step(unsigned long sum, int i) {
  for (int k = 0; k < 100; ++k) sum = sum * 31 + (unsigned long)i;
  return sum;
}
__attribute__((noipa)) unsigned long own(int n) {
  unsigned long sum = 0;
  for (int i = 0; i < n; ++i) sum = step(sum, i);
  return crc32(sum, (const unsigned char*)"profiled", 8);
}
C
cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern char** environ;
unsigned long own(int n);
static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }
int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "child")) {
    for (char** e = environ; *e; ++e) puts(*e);
    fflush(stdout);
    return system("env; grep -o '/.*' /proc/self/maps; exit 3") >> 8;
  }
  int numbers[] = {4, 1, 3, 2};
  char* volatile name = argv[0];
  for (int i = 0; i < 9; ++i) numbers[0] += strlen(name) > 5000;
  qsort(numbers, 4, sizeof *numbers, compare);
  printf("%lu %d %s\n", own(7), numbers[0], argv[0]);
  return argc > 1 ? atoi(argv[1]) : 0;
}
C
compile libown.so own.c -O1 -shared -fPIC -lz
compile program program.c -O1 -L. -lown "-Wl,-rpath,$PWD"
expected=$(./program)

run prof run --type time --libs ./program 5
[ "$status" = 5 ] && [ "$(cat stdout)" = "$expected" ] || fail "status $status: $(cat stdout stderr)"
calls() { has_row "$2" "$1( .*)?" stderr || fail "no $2 calls of $1: $(cat stderr)"; }
calls own 1
calls step 7
calls strlen 9 # which the C library has in several forms
grep -qP '\tqsort( |$)' stderr && grep -qP '\tcompare( |$)' stderr || fail "not whole: $(cat stderr)"
[ "$(messages_of_prof stderr)" = 1 ] || fail "says more: $(cat stderr)"
copies() { find "$XDG_CACHE_HOME" -type f ! -name .seen | sort; }
copies >before
run prof run --type time --libs ./program
copies | cmp -s - before && [ "$(cat stdout)" = "$expected" ] || fail "made again: $(copies)"

# A child has neither other variables nor our libraries.
run ./program child
mv stdout expected
run prof run --type time --libs ./program child
[ "$status" = 3 ] && ! diff expected stdout >differences || [ ! -s differences ] || fail "a child sees: $(cat differences)"
! grep -q "^/.*/the cache/" stdout || fail "a child has: $(grep "the cache" stdout)"

# Libraries with many thread-local variables at a constant distance from the thread pointer.
cat >large_tls.c <<'C'
static __thread __attribute__((tls_model("initial-exec"), aligned(64))) char memory[24000] = {1};
int touch(int i) {
  for (volatile int k = 0; k < 2; ++k) ++memory[i];
  return memory[i];
}
C
cat >touching.c <<'C'
#include <stdio.h>
int touch(int i);
int main(void) { return printf("%d %d\n", touch(0), touch(23999)) != 4; }
C
compile liblarge_tls.so large_tls.c -O1 -shared -fPIC
compile touching touching.c -O1 -L. -llarge_tls "-Wl,-rpath,$PWD"
run prof run --type time --libs ./touching
[ "$status" = 0 ] && [ "$(cat stdout)" = "3 2" ] && has_row 2 'touch( .*)?' stderr || fail "many thread-local variables: $status $(cat stdout stderr)"
GLIBC_TUNABLES=glibc.malloc.check=0 run prof run --type time --libs ./touching
[ "$status" = 0 ] && [ "$(cat stdout)" = "3 2" ] || fail "with tunables: $status $(cat stdout stderr)"
profld --libs -o packed ./touching || fail "profld --libs ./touching"
PROFDIR=packed run packed/run-touching
[ "$status" = 0 ] && [ "$(cat stdout)" = "3 2" ] || fail "packed: $status $(cat stdout stderr)"

# What else prof run can.
run prof run --type time --libs --json ./program
sed '$d' stderr | jq -e 'any(.functions[]; .name == "step" and .calls == 7)' >/dev/null || fail "--json: $(cat stderr)"
run prof run --type time --libs -d ./program
grep -qE 'step( \[libown.so\])?:[0-9.-]*/7' stderr || fail "-d: $(cat stderr)"
run prof run --type time --libs -N own --report report ./program
! grep -qP '\town( |$)' stderr && calls step 7 && jq -e .functions_total report >/dev/null || fail "-N: $(cat stderr)"
run prof run --libs --true ./program
[ "$status" = 2 ] && grep -q -e --libs stderr || fail "--true: $status $(cat stderr)"

# Some of the libraries only: by the name of the file or the library's own name.
run prof run --type time --libs='libo*' --libs=libz.so.1 ./program
calls step 7
grep -qP '\tcrc32' stderr && ! grep -q "_IO_file" stderr || fail "--libs=GLOB: $(cat stderr)"
[ "$(cat stdout)" = "$expected" ] || fail "--libs=GLOB: $(cat stdout)"
# What the others do has lines where it is called.
calls printf 1

run prof run --libs-only=libown.so ./program
[ "$(cat stdout)" = "$expected" ] && calls step 7
! grep -qP '\t(main|compare)( |$)' stderr || fail "--libs-only: $(cat stderr)"

# A library that audits the program already goes on doing so.
cat >audit.c <<'C'
#include <unistd.h>
unsigned la_version(unsigned version) {
  write(2, "also audited\n", 13);
  return version;
}
C
compile audit.so audit.c -shared -fPIC
compile audited program.c -O1 -L. -lown "-Wl,-rpath,$PWD" "-Wl,--audit,$PWD/audit.so"
run prof run --type time --libs ./audited
[ "$(grep -c '^also audited' stderr)" = 1 ] && calls step 7 || fail "another library that audits: $(cat stderr)"

# Where there are no libraries to exchange.
compile static program.c own.c -O1 -static -lz
run prof run --type time --libs ./static
grep -q '^prof: ./static: is static' stderr && calls step 7 || fail "static: $(cat stderr)"
CC=musl-gcc compile musl "$programs/cold.c" -O1
run prof run --type time --libs ./musl
grep -q 'by a search path' stderr && grep -qP '\tmain' stderr || fail "musl: $(cat stderr)"
cp /etc/hosts text && chmod +x text
run prof run --type time --libs ./text
[ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q '^profld: ' stderr || fail "text: $status $(cat stderr)"
mkdir 'a:b'
XDG_CACHE_HOME=$PWD/a:b run prof run --type time --libs ./program
[ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q XDG_CACHE_HOME stderr || fail "colon: $status $(cat stderr)"
exit 0
