# Two threads come into libraries that are new, both at once: all libraries are listed.
. "${0%/*}/../../libprof/common.inc"

cat >first.c <<'C'
#include "hooked.h"
int first(void), first_body(void);
HOOKED(first);
int first_body(void) { return 0; }
C
for n in 1 2 3 4; do
  gcc -O1 -fPIC -shared -I"$hand" -o lib$n.so first.c "$BUILD/lib/libprof.so" -Wl,-rpath,"$BUILD/lib" || fail "cannot compile"
done
hooked libraries

# One thread has taken the blocks for its library, and stops before it links them; the other links its own meanwhile.
list=$(nm "$BUILD/lib/libprof.so" | awk 'index($3, "GLOBAL__N_14list") { print $3 }')
[ "$(wc -w <<<"$list")" = 1 ] || fail "list is not one function of libprof.so"
mkdir profiles
DEBUGINFOD_URLS='' PROFDIR=profiles run gdb -nx -q -batch \
  -ex 'tbreak in_thread' -ex 'run ./lib1.so ./lib2.so ./lib3.so ./lib4.so' \
  -ex "tbreak _ZN7libprof4lockEPj if *(unsigned long *)\$rsp - (unsigned long)&$list < 1024" -ex continue \
  -ex 'set var *(int *)&can_go_on = 1' -ex 'set scheduler-locking on' -ex 'thread 1' -ex 'tbreak second_is_listed' -ex continue \
  -ex 'set scheduler-locking off' -ex continue ./libraries
[ "$(grep -c 'hit Temporary breakpoint' stdout)" = 3 ] || fail "gdb did not stop there: $(tail -n 5 stdout stderr)"
dump_profiles
same_calls "two threads"
