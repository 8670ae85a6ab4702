# The cache of rewritten programs keeps itself below a bound: what was not used for longest goes first, and nothing that is
# in use. A cache that cannot be written is told, with what to do.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache

cat >program.c <<'C'
#include <unistd.h>
static volatile int sum;
__attribute__((noipa)) void work(void) { sum++; }
int main(int argc, char** argv) {
  work();
  if (argc > 1) {
    write(1, "x", 1);
    for (;;) pause();
  }
  return 0;
}
C
compile one program.c -O1
for other in two three four; do { cat one && echo "$other"; } >$other && chmod +x $other; done
# The copies. Each has beside it what profiles keep of it.
kept() { (cd cache/prof && find . -type f ! -name '*.kept' -printf '%f\n' | sort | paste -sd ' '); }

prof run ./one 2>/dev/null
prof run ./two 2>/dev/null
touch -d '2 hours ago' cache/prof/*
touch -d '3 hours ago' "$(dirname cache/prof/*/one)"
prof run ./one 2>/dev/null # used now
size=$(du -s --block-size=1 cache/prof | cut -f 1)
[ "$(kept)" = "one two" ] && [ "$(find cache/prof -name '*.kept' | wc -l)" = 2 ] || fail "kept: $(kept)"
# Room for two: the one that was used last stays.
run prof run --cache-size="$size" ./three
[ "$status" = 0 ] && [ "$(kept)" = "one three" ] || fail "kept, of three: $(kept); $(cat stderr)"

# A program that runs keeps its copy.
mkfifo ready
prof run ./one wait >ready 2>/dev/null &
pid=$!
read -rn 1 <ready
run prof run --cache-size=1K ./four
[ "$status" = 0 ] && [ "$(kept)" = "four one" ] || fail "kept, in use: $(kept); $(cat stderr)"
kill "$pid"
wait "$pid"
run prof run --cache-size=1K ./three
[ "$(kept)" = three ] && [ "$(find cache/prof -name '*.kept' | wc -l)" = 1 ] || fail "kept, not in use any more: $(kept)"

for size in x 1T 20000000000G -1; do
  run prof run --cache-size=$size ./one
  [ "$status" = 2 ] && grep -q "^prof: --cache-size: invalid size '$size'; write 500K, 20M or 2G$" stderr || fail "$size: $(cat stderr)"
done

# No place for it.
touch file
XDG_CACHE_HOME=$PWD/file run prof run ./one
[ "$status" = 1 ] && grep -q "^prof: $PWD/file/prof: Not a directory; rewritten programs are kept there; set XDG_CACHE_HOME to a folder that can be written$" stderr ||
  fail "no place: $(cat stderr)"
