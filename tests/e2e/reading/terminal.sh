# On a terminal the table ends after 25 rows, or what fits, and fits its width; in a pipe it is whole. prof run prints on standard error.
. "${0%/*}/../common.inc"
. "${0%/*}/../terminal.inc"
export XDG_CACHE_HOME=$PWD/cache

# They do enough for hooks not to take most of the time, which would be said.
for i in $(seq 10 60); do
  echo "template <class T> __attribute__((noipa)) T function_with_a_long_name_$i(T n) { for (volatile int k = 0; k < 2000; ++k) continue; return n + 1; }"
done >many.cc
{
  echo 'int main() { long n = 0;'
  for i in $(seq 10 60); do echo "n += function_with_a_long_name_$i<unsigned long>(n);"; done
  echo 'return n == 1; }'
} >>many.cc
compile many many.cc -O1
rewrite many --no-imports
profiled many
profile=$(echo many.profiles/prof.*)

prof many.prof "$profile" >whole
[ "$(wc -l <whole)" = $((3 + 52)) ] && grep -q 'unsigned long function_with_a_long_name_10<unsigned long>(unsigned long)$' whole || fail "in a pipe: $(cat whole)"
for columns in 80 200; do
  on_terminal $columns prof many.prof "$profile"
  [ "$(wc -l <stdout)" = $((4 + 25 + 1)) ] && [ "$(widest)" -le $columns ] || fail "$columns columns: $(cat stdout)"
  sed -n 3p stdout | grep -qx 'not shown: 27 of 52 functions' || fail "$columns columns: $(cat stdout)"
  tail -n 1 stdout | grep -qP '^… 27 more functions, ~?[0-9.]+ % of the time; --all shows them$' || fail "$columns columns: $(tail -n 1 stdout)"
done
for rows in 24 10; do
  on_terminal 80 prof many.prof "$profile"
  [ "$(wc -l <stdout)" -lt "$rows" ] || [ "$rows" = 10 ] || fail "$rows rows: $(cat stdout)"
  [ "$(grep -cP '^ *(~?[0-9.]+|-) .*\t' stdout)" = $((rows > 13 ? rows - 8 : 5)) ] || fail "$rows rows: $(cat stdout)"
done
rows=
COLUMNS=100 on_terminal 0 prof many.prof "$profile"
[ "$(widest)" -le 100 ] && [ "$(widest)" -gt 80 ] || fail "COLUMNS: $(cat stdout)"
LC_ALL=C on_terminal 80 prof --no-header many.prof "$profile"
tail -n 1 stdout | grep -q '^\.\.\. 27 more functions' && [ "$(wc -l <stdout)" = 27 ] || fail "LC_ALL=C: $(cat stdout)"
# Messages are broken between words, too.
on_terminal 40 prof --function no_such_function many.prof "$profile"
[ "$(widest)" -le 40 ] && [ "$(wc -l <stdout)" -gt 1 ] && head -n 1 stdout | grep -q '^prof: ' && sed -n 2p stdout | grep -q '^  [^ ]' || fail "a message: $(cat stdout)"
on_terminal 80 prof --all many.prof "$profile"
[ "$(wc -l <stdout)" = $((3 + 52)) ] || fail "--all: $(cat stdout)"
on_terminal 80 prof run ./many
grep -q '; --all shows them$' stdout || fail "prof run: $(cat stdout)"
on_terminal 80 prof run --all ./many
! grep -q 'more functions' stdout || fail "prof run --all: $(cat stdout)"

# What was inlined keeps its part, its place and some of its name, however little room is left.
cat >inlines.c <<'C'
static inline __attribute__((always_inline)) int with_quite_a_long_name_that_does_not_fit_into_a_line(int n) {
  volatile int square = n * n;
  return square;
}
int main(int argc, char** argv) { return with_quite_a_long_name_that_does_not_fit_into_a_line(argc) == 0; }
C
compile inlines inlines.c -O1 -g
on_terminal 80 prof run --type time --inlined ./inlines
grep -qP '^ +\t  +[0-9.]+ % [a-z_]+…[a-z_]+  inlines.c:1$' stdout || fail "prof run --inlined: $(cat stdout)"
