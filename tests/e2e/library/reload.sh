# A plugin is loaded and unloaded again and again in a program that is not rewritten, and in one that is: while other threads
# run, and with forks and other programs in between.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >work.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) int add(int x) { return rand() * 0 + x + 1; }
int work(int x) { return add(x) + add(2 * x); }
C
compile plain/work.so work.c -O1 -shared -fPIC
library work.so
compile host "$programs/reloading_host.c" -O1
rewrite host --no-imports

for host in host host.prof; do
  for times in 1 30; do
    with_copies ./$host work.so $times
    [ "$status" = 3 ] || fail "$host: status $status, $(head -n 3 stdout)"
    grep -v '^calls' stdout | grep -vqE '^(-?[0-9]+|run by a child)$' && fail "$host: $(grep -v '^calls' stdout | head -n 3)"
    same_calls "$host $times" <stdout
  done
done
