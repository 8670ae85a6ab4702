# prof diff: two builds of a program, of which one has a function that is slower and called more often, one that is new, one
# that is gone, and one that the compiler made another clone of.
. "${0%/*}/../common.inc"

cat >program.c <<'C'
#define KEPT __attribute__((noipa))
KEPT static int work(int n) {
  volatile int sum = 0;
  for (int i = 0; i < n; i++) sum += i;
  return sum;
}
KEPT int same(void) { return work(1000); }
KEPT int slower(int n) { return work(n) + same(); }
int clone(int n) __asm__(CLONE);
KEPT int clone(int n) { return n + 1; }
#ifdef SECOND
// Long enough for main to become slower by more than slower does.
KEPT int added(void) {
  for (volatile int i = 0; i < 1000000; i++) continue;
  return same();
}
#else
KEPT int removed(void) { return 1; }
#endif
KEPT int recursive(int n) { return n == 0 ? slower(WORK) : recursive(n - 1); }
int main(void) {
  int sum = recursive(3) + clone(1);
  for (int i = 1; i < TIMES; i++) sum += slower(WORK);
#ifdef SECOND
  sum += added();
#else
  sum += removed();
#endif
  return sum == -1;
}
C
build() { # build DIRECTORY NAME FLAGS...
  local directory=$1 name=$2
  shift 2
  mkdir -p "$directory"
  compile "$directory/$name" program.c -O1 "$@"
  profld -o "$directory/$name.prof" "$directory/$name" || fail "profld $name"
}
build a tool -DWORK=10000 -DTIMES=10 '-DCLONE="helper.constprop.0"'
build b tool-2 -DSECOND -DWORK=1000000 -DTIMES=20 '-DCLONE="helper.isra.0"'
runs() { # runs DIRECTORY NAME TYPE: three
  local i
  rm -f "$1"/prof.*
  for i in 1 2 3; do PROFTYPE=$3 PROFDIR=$1 "$1/$2.prof" || fail "$1/$2.prof: $?"; done
}

# Counts are exact, and so is the table.
runs a tool count
runs b tool-2 count
run prof diff a/prof.* -- b/prof.*
[ "$status" = 0 ] && [ ! -s stderr ] || fail "count: $status $(cat stderr)"
grep -qE '^A: .*/a/tool.prof, mean of 3 runs' stdout && grep -qE '^B: .*/b/tool-2.prof, mean of 3 runs' stdout || fail "heads: $(cat stdout)"
expected='Change % Calls Name
+21 +105% 20->41 work
+11 +110% 10->21 same
+10 +100% 10->20 slower
+1 new 0->1 added
-1 gone 1->0 removed
0 0% 1 helper.isra.0 (was helper.constprop.0)
0 0% 1 main
0 0% 4 recursive'
plain() { tail -n +3 | tr -s ' \t' ' ' | sed 's/^ //'; }
[ "$(plain <stdout | grep -v ' all functions$')" = "$expected" ] || fail "count: $(cat stdout)"
tail -n 1 stdout | grep -qP '^ *\+42 +\+\d\S+% +\d+->\d+\tall functions$' || fail "no sum: $(cat stdout)"
[ "$(prof diff -n 2 a/prof.* -- b/prof.* | plain | sed -n '2,4s/.* //p' | paste -sd ' ')" = "work same functions" ] || fail "-n 2"
[ "$(prof diff -n 2 a/prof.* -- b/prof.* | tail -n 1)" = "… 6 more functions" ] || fail "-n 2: $(prof diff -n 2 a/prof.* -- b/prof.*)"
[ "$(prof diff --sort name a/prof.* -- b/prof.* | plain | sed -n 2p)" = "+1 new 0->1 added" ] || fail "--sort name"

# The tree has the contexts that changed, and with --all the others, too.
run prof diff -d a/prof.* -- b/prof.*
printf ' main:-\n . slower:-/9->19\n .\twork:-/9->19\n .\tsame:-/9->19\n .\t. work:-/9->19\n-. removed:-\n+. added:-\n+.\tsame:-\n+.\t. work:-\n' >expected
cmp -s stdout expected || fail "tree: $(cat stdout)"
prof diff -d --all a/prof.* -- b/prof.* >all
grep -qxF " . helper.isra.0 (was helper.constprop.0):-" all && grep -qF '...' all || fail "tree --all: $(cat all)"
[ "$(prof diff -d -r --all a/prof.* -- b/prof.* | grep -c recursive)" = 4 ] || fail "tree -r"
[ "$(prof diff -d -s a/prof.* -- b/prof.* | sed -n 2p)" = " . slower:-/9->19" ] || fail "tree -s"
[ "$(prof diff -s a/prof.* -- b/prof.*)" = "$(prof diff -d -s a/prof.* -- b/prof.*)" ] || fail "-s without -d"

# A run is not different from itself.
one=$(printf '%s\n' a/prof.* | head -n 1)
run prof diff -d "$one" "$one"
[ "$status" = 0 ] && [ ! -s stdout ] || fail "itself: $(cat stdout)"

# JSON, raw names, and what continuous integration wants.
prof diff --json a/prof.* -- b/prof.* >json || fail "--json: $?"
jq -e '.type == "count" and .a.runs == 3 and ([.functions[] | select(.name == "slower") | .calls.change] == [10]) and
  ([.functions[] | select(.was) | [.name, .was]] == [["helper.isra.0", "helper.constprop.0"]]) and
  ([.functions[] | select(.in == "a") | .name] == ["removed"]) and (.tree | length) > 10' json >/dev/null || fail "--json: $(head -c 600 json)"
run prof diff --raw-names --fail-above 10 a/prof.* -- b/prof.*
[ "$status" = 3 ] && grep -q '^prof: work: 21 calls more, ' stderr && ! grep -q '^prof: added' stderr || fail "--fail-above 10: $status $(cat stderr)"
run prof diff --fail-above 10 b/prof.* -- a/prof.*
[ "$status" = 0 ] && [ ! -s stderr ] || fail "--fail-above 10, faster: $status $(cat stderr)"

# Programs may be named, and have moved; a directory is one run.
mkdir moved
mv a/tool.prof moved/first
mv b/tool-2.prof moved/second
for arguments in "moved/first $one moved/second $(printf '%s\n' b/prof.* | head -n 1)" "moved/first $one -- moved/second b/prof.*" "moved/first a moved/second b"; do
  # shellcheck disable=SC2086
  run prof diff -d $arguments
  [ "$status" = 0 ] && [ ! -s stderr ] && grep -qF 'slower:-/' stdout || fail "prof diff -d $arguments: $status $(cat stdout stderr)"
done
mv moved/first a/tool.prof
mv moved/second b/tool-2.prof

# Times: what takes a hundred times as long is found, and what chance does is told. Another PROFTYPE cannot be compared.
runs b tool-2 time
run prof diff "$one" b
[ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q 'PROFTYPE=time, and .* PROFTYPE=count' stderr || fail "two types: $status $(cat stderr)"
runs a tool time
run prof diff a/prof.* -- b/prof.*
[ "$status" = 0 ] || fail "time: $status $(cat stderr)"
sed -n 3p stdout | grep -qP '^ *Change +% +p +Self A +Self B .*Total +Calls +Per call\tName$' || fail "time: $(cat stdout)"
sed -n 4p stdout | grep -qP '^ *~?\+\S+ +\+\S+% +\S+ .*\twork$' || fail "time: $(cat stdout)"
prof diff --json a/prof.* -- b/prof.* | jq -e '.functions[] | select(.name == "slower") | .total_seconds | .change > 0 and .p >= 0 and .p <= 1' >/dev/null ||
  fail "time: $(cat stdout)"
for key in self total calls per-call; do
  [ "$(prof diff -R --sort $key a/prof.* -- b/prof.* | wc -l)" = "$(wc -l <stdout)" ] || fail "--sort $key"
done
[ "$(prof diff --sort total a/prof.* -- b/prof.* | sed -n 4p | cut -f 2)" = main ] || fail "--sort total: $(prof diff --sort total a/prof.* -- b/prof.*)"
run prof diff "$(printf '%s\n' a/prof.* | head -n 1)" "$(printf '%s\n' b/prof.* | head -n 1)"
sed -n 3p stdout | grep -qE '^ *Change +% +Self A' || fail "one run each: $(cat stdout)"

# What cannot be compared is told in one line.
one=$(printf '%s\n' a/prof.* | head -n 1)
run prof diff --help
[ "$status" = 0 ] && grep -q '^usage: prof diff ' stdout && [ ! -s stderr ] || fail "--help: $status"
awk 'length > 80' stdout | grep -q . && fail "--help is wider than 80 columns"
for arguments in "" "$one" "$one --" "-- $one" "-x $one $one" "--sort size $one $one" "-n x $one $one" "--fail-above -1 $one $one" "--sort" "-d --json $one $one" "-r --json $one $one" \
  "-d -n 2 $one $one" "--json --sort name $one $one" "-s --sort name $one $one" "--all -n 2 $one $one"; do
  # shellcheck disable=SC2086
  run prof diff $arguments
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof diff $arguments: $status $(cat stderr)"
done
mkdir empty
for arguments in "$one nothing" "empty $one" "program.c $one" "$one b/prof.* -- $one"; do
  # shellcheck disable=SC2086
  run prof diff $arguments
  [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof diff $arguments: $status $(cat stderr)"
done
head -c 5000 "$one" >cut
run prof diff "$one" cut
[ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q 'damaged' stderr || fail "a damaged profile: $status $(cat stderr)"

# Functions without names are found in the same build only.
strip -o stripped a/tool
profld -o a/tool.prof stripped || fail "profld stripped"
runs a tool count
run prof diff a/prof.*  # three without --
[ "$status" = 2 ] || fail "three runs: $status"
one=$(printf '%s\n' a/prof.* | head -n 1)
run prof diff -d "$one" "$one"
[ "$status" = 0 ] && [ ! -s stdout ] && ! grep -v ": stripped; " stderr || fail "stripped: $(cat stdout stderr)"
runs b tool-2 count
run prof diff a/prof.* -- b/prof.*
[ "$status" = 0 ] && grep -qE '^prof: [0-9]+ functions have no name, ' stderr || fail "stripped: $status $(cat stderr)"

# That functions were inlined into the one with most of the time is no matter of a difference.
cat >inlines.c <<'C'
static inline __attribute__((always_inline)) int step(int n) { return n % 2 ? 3 * n + 1 : n / 2; }
int main(int argc, char** argv) {
  int n = argc + 26;
  for (int i = 0; i < 3000000; ++i) n = step(n);
  return n == 0;
}
C
compile inlines inlines.c -O1 -g
rewrite inlines --no-imports
for side in c d; do PROFDIR=$side ./inlines.prof; done
prof c/prof.* 2>&1 >/dev/null | grep -q 'main is .* inlined into it' || fail "main is not the one"
run prof diff c/prof.* d/prof.*
[ "$status" = 0 ] && [ ! -s stderr ] || fail "inlined functions: $status $(cat stderr)"
