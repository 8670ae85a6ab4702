# The views of a program whose calls are known.
. "${0%/*}/../common.inc"

cat >known.cc <<'C'
#define KEPT __attribute__((noipa))
namespace n {
KEPT int leaf(int x) { return x + 1; }
KEPT int walk(int depth) { return depth == 0 ? leaf(1) : walk(depth - 1) + leaf(depth); }
}  // namespace n
extern "C" KEPT int busy(int x) {
  for (volatile int i = 0; i < 3000000; i = i + 1) x ^= i;
  return x;
}
extern "C" KEPT int late(int x) { return n::leaf(x) + busy(x); }
int main() {
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += n::leaf(i);
  sum += n::walk(3) + late(1);
  return sum == -1;
}
C
compile known known.cc -O2
rewrite known
export PROFTYPE=elapsed
profiled known
profile=$(echo known.profiles/prof.*)

# The table: its program, and how long that ran; the columns; the busiest functions first; percentages of all.
run prof known.prof "$profile"
# On a busy machine the program waits for a processor, which is said.
[ "$status" = 0 ] && ! grep -vqF "the rest, which is in these times, it waited" stderr || fail "flat: $status $(cat stderr)"
[ "$(head -n 1 stdout)" = "known.prof, $profile, PROFTYPE=elapsed" ] || fail "no header: $(cat stdout)"
sed -n 2p stdout | grep -qP '^elapsed [0-9.]+[mu]?s, on a processor [0-9.]+[mu]?s$' || fail "no times: $(cat stdout)"
sed -n 3p stdout | grep -qP '^ +% +Self +Total +Calls +Per-call\tName$' || fail "titles: $(cat stdout)"
time='(0|[0-9.]+(-[0-9.]+)?[num]?s)'
tail -n +4 stdout | grep -vqP "^ *~?\d+\.\d +$time +$time +\d+ +$time\t\S" && fail "rows: $(cat stdout)"
column % '' | tr -d '~' | awk '{ if (NR > 1 && $1 > last) wrong = 1; last = $1 } END { exit wrong }' || fail "not in order: $(cat stdout)"
column % '' | tr -d '~' | awk '{ sum += $1 } END { exit !(sum > 99 && sum < 101) }' || fail "percentages: $(cat stdout)"
for row in '15 n::leaf(int)' '4 n::walk(int)' '1 late' '1 main' '1 busy'; do
  has_row "${row%% *}" "\Q${row#* }\E" || fail "flat: no $row in $(cat stdout)"
done
cp stdout flat

# Fewer rows, another order; what does not go together.
run prof --no-header -n 2 known.prof "$profile"
[ "$(wc -l <stdout)" = 4 ] && tail -n 1 stdout | grep -qP '^… \d+ more functions, ~?[0-9.]+ % of the time$' || fail "-n: $(cat stdout)"
run prof --sort name --no-header --rows 1000 known.prof "$profile"
tail -n +2 stdout | cut -f 2 | LC_ALL=C sort -c || fail "--sort name: $(cat stdout)"
run prof --sort calls known.prof "$profile"
column Calls '' | sort -c -n -r || fail "--sort calls: $(cat stdout)"
run prof --sort total known.prof "$profile"
sed -n 4,6p stdout | grep -qP '\tmain$' || fail "--sort total: $(cat stdout)"
prof --json --sort calls known.prof "$profile" | jq -e '[.functions[].calls] | . == (sort | reverse)' >/dev/null || fail "--json --sort"
prof --json known.prof "$profile" | jq -e '.profiles == [$p] and .runs == 1 and .processes == 1 and .threads == 1 and .elapsed_seconds > 0 and
  ([.functions[].share] | add | . > 0.999 and . < 1.001) and all(.functions[]; .share_low <= .share and .share <= .share_high)' --arg p "$profile" >/dev/null || fail "--json: header"
for arguments in "--sort size" "-n 0" "-n x" "--percent 101" "--percent x" "--all -n 3" "-d -n 3" "--json --no-header" "--by-module --sort total"; do
  # shellcheck disable=SC2086
  run prof $arguments known.prof "$profile"
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof $arguments: $status $(cat stderr)"
done

# The tree, from main on: names and calls, in order of first call, recursion cut off.
tree() { prof -d "$@" known.prof "$profile" 2>/dev/null | sed -n '/main:/,$p' | sed -E 's/:[0-9.]+(-[0-9.]+)?/:/' | sed -E '/^(\. *|\.\t)*_/,$d'; }
[ "$(tree | sed -E '1s/.*main/main/')" != "" ] || fail "no tree"
level=$(prof -d known.prof "$profile" 2>/dev/null | grep -m 1 'main:' | sed -E 's/main:.*//')
expected=$(printf '%s\n' 'main:' 'n::leaf(int):/10' 'n::walk(int):' 'n::walk(int):' '...' 'n::leaf(int):' 'late:' 'n::leaf(int):' 'busy:')
plain() { sed -E 's/^((\.\t)|(\. ))*//'; }
[ "$(tree | plain)" = "$expected" ] || fail "tree: $(tree)"
[ "$(tree -r | plain | grep -c 'n::walk')" = 4 ] || fail "tree -r: $(tree -r)"
# Two siblings, the longer first: late, unless the machine was busy when it was leaf's turn.
prof -d -s known.prof "$profile" 2>/dev/null | grep -oP '(\blate:\K[0-9.]+(?=(-[0-9.]+)?$)|n::leaf\(int\):\K[0-9.]+(?=(-[0-9.]+)?/10$))' >siblings
[ "$(wc -l <siblings)" = 2 ] && sort -c -r -n siblings 2>/dev/null || fail "tree -s: $(tree -s)"
[ -n "$level" ] || tree | grep -qF $'.\tbusy:' || fail "indentation: $(tree)"

# Other ways to say the same.
cp "$profile" .
for arguments in "known" "known $profile" "$profile" "" "known.prof"; do
  # shellcheck disable=SC2086
  run prof $arguments
  [ "$status" = 0 ] && [ "$(exact | sort)" = "$(exact flat | sort)" ] || fail "prof $arguments: $status $(cat stderr)"
done
rm prof.*
run prof --raw-names known.prof "$profile"
grep -qP '\t_ZN1n4leafEi$' stdout || fail "--raw-names: $(cat stdout)"

# Two runs, added up; raw times are longer.
run prof --json known.prof "$profile" "$profile"
[ "$(jq -c '[.functions[] | select(.name == "n::leaf(int)") | .calls]' stdout)" = '[30]' ] || fail "sum: $(cat stdout)"
jq -e '[.functions[].self_cycles] | add' stdout >twice
prof -R --json known.prof "$profile" "$profile" | jq -e '[.functions[].self_cycles] | add' >raw
[ "$(cat raw)" -ge "$(cat twice)" ] || fail "-R: $(cat raw twice)"

# Counted, not timed.
rm -rf known.profiles
PROFTYPE=count profiled known
profile=$(echo known.profiles/prof.*)
run prof "$profile"
[ "$(column Calls 'n::leaf(int)') $(column Self 'n::leaf(int)')" = "15 " ] || fail "count: $(cat stdout stderr)"
run prof -d "$profile"
grep -qF 'n::leaf(int):-/10' stdout || fail "count: $(cat stdout stderr)"
run prof --no-header --percent 50 "$profile"
has_row 15 'n::leaf\(int\)' && tail -n 1 stdout | grep -q '^… ' && [ "$(wc -l <stdout)" = 3 ] || fail "--percent: $(cat stdout)"
[ "$(prof --json "$profile" | jq -c '[.type, ([.functions[].total_cycles] | add)]')" = '["count",0]' ] || fail "count: JSON"

# Whoever closes the pipe has seen enough; a full disk is told.
prof -d "$profile" 2>stderr | head -n 1 >/dev/null
[ ! -s stderr ] || fail "closed pipe: $(cat stderr)"
(trap '' PIPE; prof -d "$profile" 2>stderr | head -c 0; exit "${PIPESTATUS[0]}") || fail "ignored SIGPIPE: $(cat stderr)"
[ ! -s stderr ] || fail "ignored SIGPIPE: $(cat stderr)"
prof "$profile" >/dev/full 2>stderr
[ $? = 1 ] && [ "$(wc -l <stderr)" = 1 ] || fail "full disk: $(cat stderr)"

run prof --help
[ "$status" = 0 ] && grep -q '^usage: prof ' stdout && [ ! -s stderr ] || fail "--help: $status"
run prof --version
[ "$status" = 0 ] && [ "$(cat stdout)" = "prof $version" ] || fail "--version: $(cat stdout)"
for arguments in "-x" "--nonsense" "-g" "-d --json" "run" "run -x"; do
  # shellcheck disable=SC2086
  run prof $arguments
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof $arguments: $status $(cat stderr)"
done
exit 0
