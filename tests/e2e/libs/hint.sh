# A program whose main only jumps into a library, as python3's does: prof run shows where its time went all the same, and with hooks,
# which see the program alone, it tells of --libs.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache

cat >library.c <<'C'
#include <time.h>
__attribute__((noipa)) static int busy(clock_t end) {
  while (clock() < end);
  return 3;
}
int library_main(int argc, char** argv) { return busy(clock() + CLOCKS_PER_SEC / 10); }
C
echo 'int library_main(int, char**); int main(int argc, char** argv) { return library_main(argc, argv) END; }' >program.c
compile libwhole.so library.c -O2 -shared -fPIC
compile jumps program.c -O2 -DEND= -L. -lwhole "-Wl,-rpath,$PWD"
compile calls program.c -O2 -DEND=+1 -L. -lwhole "-Wl,-rpath,$PWD"

run prof run ./jumps 'two words'
[ "$status" = 3 ] && grep -qP '\t(busy|clock|clock_gettime) \[lib' stderr && ! grep -q 'its own functions' stderr || fail "samples: $status $(cat stderr)"
run prof run --type time ./jumps 'two words'
[ "$status" = 3 ] && grep -qE "^prof: ./jumps: (9[0-9]|100) % of its time was not in its own functions; with libraries: prof run --libs -- ./jumps 'two words'\$" stderr ||
  fail "jumps: $status $(cat stderr)"
run prof run --libs ./jumps
[ "$status" = 3 ] && ! grep -q 'its own functions' stderr && has_row 1 'busy.*' stderr || fail "--libs: $status $(cat stderr)"
for arguments in ./calls "--type time ./calls" "-F main ./jumps" "--type count ./jumps"; do
  # shellcheck disable=SC2086 # a list of words
  run prof run $arguments
  ! grep -q 'its own functions' stderr || fail "$arguments: $(cat stderr)"
done
exit 0
