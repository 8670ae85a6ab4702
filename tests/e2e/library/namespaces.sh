# A library that is loaded into many namespaces (dlmopen): there is one profile, with all calls.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >work.c <<'C'
#include <stdlib.h>
static __thread int used;
static int n;
__attribute__((noinline)) int deeper(int x) {
  ++used;
  return x * 3 + n;
}
// n counts in each namespace apart, and each has a C library.
int work(int x) {
  ++n;
  srand(x);
  return deeper(x) * 100 + deeper(used);
}
C
compile plain/work.so work.c -O1 -shared -fPIC
library work.so
compile host "$programs/namespaces.c" -O1
rewrite host --no-imports

# As many at once as without profiling.
most=1
while LD_LIBRARY_PATH=plain ./host work.so $((most + 1)) 0 >/dev/null; [ $? = 5 ]; do most=$((most + 1)); done
[ "$most" -gt 8 ] || fail "only $most namespaces"

for host in host host.prof; do
  for how in "1 0" "$most 0" "0 30" "8 30"; do
    # shellcheck disable=SC2086 # two words
    with_copies ./$host work.so $how
    [ "$status" = 5 ] || fail "$host $how: status $status, $(tail -n 1 stdout)"
    [ "$(ls profiles | wc -l)" = 1 ] || fail "$host $how: $(ls profiles)"
    same_calls "$host $how" <stdout
  done
done
