# prof run --libs where the dynamic linker cannot be audited, musl's: libraries are led to their copies by a search path, unless
# one could be there twice.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache CC=musl-gcc
mkdir lib bin

cat >library.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int uses;
__attribute__((noipa)) int LOOP(int n) {
  volatile int sum = 0;
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}
#ifdef OPENS
#include <dlfcn.h>
#endif
int INNER(int n);
int FUNCTION(int n) {
#ifdef OPENS
  dlopen("nothing", RTLD_NOW);
#endif
#ifdef INNER
  n += INNER(n);
#endif
  char* text = malloc(20);
  snprintf(text, 20, "%d", LOOP(n));
  int size = (int)strlen(text) + ++uses;
  free(text);
  return size;
}
C
cat >program.c <<'C'
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern char** environ;
int outer(int), inner(int);
static int libraries;
static int each(struct dl_phdr_info* info, size_t size, void* data) {
  return libraries += !!strstr(info->dlpi_name, "/libinner"), 0;
}
int main(int argc, char** argv) {
  int sum = 0;
  for (int i = 0; i < 9; ++i) sum += outer(i) + inner(i);
  dl_iterate_phdr(each, 0);
  printf("%s %d, %d\n", argv[0], sum, libraries);
  fflush(stdout);
  int status = system("env | grep -cF .names");
  return 7;
}
C
compile lib/libinner.so library.c -DFUNCTION=inner -DLOOP=inner_loop -shared -fPIC -Wl,-soname,libinner.so
compile lib/libouter.so library.c -DFUNCTION=outer -DLOOP=outer_loop -DINNER=inner -shared -fPIC -Wl,-soname,libouter.so \
  -Llib -linner
compile bin/program program.c -O1 -Llib -louter -linner '-Wl,-rpath,$ORIGIN/../lib'

# same PROGRAM: with profiled libraries it does as without; what prof says is in stderr.
same() {
  (exec -a "$1" "$1") >expected 2>/dev/null
  [ $? = 7 ] || fail "$1 itself: $(cat expected)"
  run prof run --type time --libs -- "$1"
  [ "$status" = 7 ] && cmp -s expected stdout || fail "$1: $status $(cat stdout stderr)"
}
calls() { has_row "$2" "$1( .*)?" stderr || fail "no $2 calls of $1: $(cat stderr)"; }
says_once() { [ "$(grep -v '^prof: the ' stderr | messages_of_prof -)" = 1 ] && grep -q "^prof: $1" stderr || fail "does not say: $1 $(cat stderr)"; }

same bin/program
[ "$(tail -n 2 expected)" = "bin/program 169, 1
0" ] || fail "the program: $(cat expected)"
says_once 'bin/program: its dynamic linker, .*, is led to copies of libraries by a search path: '
calls outer 9
calls inner 18
calls inner_loop 18
calls strlen 27 # an import
! grep -qP '\t(__libc_start_main|vfprintf)( |$).*libc' stderr || fail "the C library has a copy: $(cat stderr)"
run prof run --type time --libs=libinner.so bin/program
cmp -s expected stdout && calls inner 18 && ! grep -qP '\touter_loop( |$)' stderr || fail "--libs=GLOB: $(cat stdout stderr)"
run prof run --libs bin/program
[ "$status" = 7 ] && cmp -s expected stdout && calls outer 9 && calls inner 18 && calls inner_loop 18 || fail "without hooks: $status $(cat stdout stderr)"

# Its libraries are exchanged where they have a path of their own, too. What the environment says goes first.
compile lib/libouter.so library.c -DFUNCTION=outer -DLOOP=outer_loop -DINNER=inner -shared -fPIC -Wl,-soname,libouter.so \
  -Llib -linner "-Wl,-rpath,$PWD/lib"
same bin/program
calls inner 18
mv lib elsewhere
compile elsewhere/libouter.so library.c -DFUNCTION=outer -DLOOP=other_loop -DINNER=inner -shared -fPIC -Wl,-soname,libouter.so \
  -Lelsewhere -linner
export LD_LIBRARY_PATH=$PWD/elsewhere
same bin/program
grep -q '^prof: bin/program: .*, finds the originals of libraries first, by LD_LIBRARY_PATH .*: libouter.so, libinner.so$' stderr || fail "the environment: $(cat stderr)"
unset LD_LIBRARY_PATH
mv elsewhere lib

# A library that could be there twice: needed by another name, which is searched elsewhere, or opened while the program runs.
compile lib/libplain.so library.c -DFUNCTION=inner -DLOOP=inner_loop -shared -fPIC
ln -s libplain.so lib/libsame.so
compile lib/libouter.so library.c -DFUNCTION=outer -DLOOP=outer_loop -DINNER=inner -shared -fPIC -Wl,-soname,libouter.so \
  -Llib -lsame
compile bin/twice program.c -O1 -Llib -louter -lplain '-Wl,-rpath,$ORIGIN/../lib'
same bin/twice
says_once 'bin/twice: its dynamic linker, .*, would load libplain.so twice, by two names; libraries are not profiled'
calls main 1
compile lib/libouter.so library.c -DFUNCTION=outer -DLOOP=outer_loop -DOPENS -shared -fPIC -Wl,-soname,libouter.so
same bin/program
says_once 'bin/program: its library libouter.so calls dlopen, '
calls main 1

run profld --libs -o directory bin/program
[ "$status" = 1 ] && [ ! -e directory ] || fail "a directory for another machine: $status $(cat stdout stderr)"
exit 0
