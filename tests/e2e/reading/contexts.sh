# Trees of callers and callees, some contexts only, and what the tree leaves out, of a program whose calls are known.
. "${0%/*}/../common.inc"
. "${0%/*}/../terminal.inc"

cat >known.c <<'C'
#include "calls.h"
static volatile int sum;
KEPT int leaf(int n) { return sum += n; }
KEPT int down(int n) { return n == 0 ? leaf(n) : down(n - 1) + leaf(n); }
KEPT int third(int n) { return leaf(n) + leaf(n) + 1; }
KEPT int second(int n) { return third(n) + 1; }
KEPT int first(int n) { return second(n) + 1; }
KEPT int left(int n) { return first(n) + leaf(n); }
KEPT int right(int n) { return down(n) + 1; }
int main() {
  for (int i = 0; i < 10; ++i) left(i);
  for (int i = 0; i < 3; ++i) right(2);
  return 0;
}
C
compile known known.c -O1 -fno-optimize-sibling-calls
rewrite known
PROFTYPE=count profiled known
profile=$(echo known.profiles/prof.*)

# expect OPTION...: prof prints the lines on standard input, and no remark but on the part that is shown.
expect() {
  cat >expected
  run prof "$@" known.prof "$profile"
  [ "$status" = 0 ] || fail "prof $*: $status $(cat stderr)"
  ! grep -v "the contexts shown have" stderr || fail "prof $*: $(cat stderr)"
  cmp -s expected stdout || fail "prof $*: $(cat stdout)"
}

# Callers, with their part of the calls; recursion is cut off as in the tree of calls.
expect --callers leaf <<'T'
leaf:-/39
. third:-/20
.	second:-/20
.	. first:-/20
.	.	left:-/20
.	.	. main:-/20
. left:-/10
.	main:-/10
. down:-/9
.	down:-/6
.	. ...
.	right:-/3
.	. main:-/3
T
expect --callers down -r --sort name <<'T'
down:-/9
. down:-/6
.	down:-/3
.	. right:-/3
.	.	main:-/3
.	right:-/3
.	. main:-/3
. right:-/3
.	main:-/3
T

# Callees: all contexts of a function laid over each other, each time from its outermost activation on.
expect --callees down -r <<'T'
down:-/3
. down:-/3
.	down:-/3
.	. leaf:-/3
.	leaf:-/3
. leaf:-/3
T
grep -qF 'the contexts shown have 19.6 % of the calls' stderr || fail "no part: $(cat stderr)"
expect --callees '[s]econd' --callees down --depth 2 <<'T'
second:-/10
. third:-/10
down:-/3
. down:-/3
. leaf:-/3
... 4 more contexts deeper than --depth 2
T

# Contexts through a function, and those that are not.
expect -d --focus first <<'T'
main:-
. left:-/10
.	first:-/10
.	. second:-/10
.	.	third:-/10
.	.	. leaf:-/20
T
expect -d --ignore down --ignore second <<'T'
main:-
. left:-/10
.	first:-/10
.	leaf:-/10
. right:-/3
T
# In the table, percentages are of all 92 calls.
expect --no-header --focus down <<'T'
  %  Calls	Name
9.8      9	down
9.8      9	leaf
3.3      3	right
1.1      1	main
T
expect --callers leaf --ignore left <<'T'
leaf:-/9
. down:-/9
.	down:-/6
.	. ...
.	right:-/3
.	. main:-/3
T

# What is small or deep is left out, and how much that is.
expect -d --percent 20 <<'T'
main:-
. left:-/10
.	first:-/10
.	. second:-/10
.	.	third:-/10
.	.	. leaf:-/20
. right:-/3
... 7 more contexts, 30.4 % of the calls, each below 20 %; --percent 0 shows them
T
expect --callers left --percent 20 <<'T'
left:-/10
... 1 more context, 10.9 % of the calls, each below 20 %; --percent 0 shows them
T
expect --callers third --chains <<'T'
third < second < (1 more) < left < main:-/10
T
expect --depth 2 --sort calls <<'T'
main:-
. left:-/10
. right:-/3
... 11 more contexts deeper than --depth 2
T
expect --chains --focus left <<'T'
main:-
. left:-/10
.	first > second > third:-/10
.	. leaf:-/20
.	leaf:-/10
T

# -s and -r mean the tree.
prof -d -s known.prof "$profile" >both && prof -s known.prof "$profile" | cmp -s - both || fail "-s is not -d -s"
prof -d -r known.prof "$profile" >both && prof -r known.prof "$profile" | cmp -s - both || fail "-r is not -d -r"

# On a terminal chains are folded and what is small is left out, unless all is asked for.
on_terminal 0 prof -d known.prof "$profile"
[ "$(grep -cP '^\.\s+first > second > third:-/10$' stdout)" = 1 ] || fail "on a terminal: $(cat stdout)"
on_terminal 0 prof -d --all known.prof "$profile"
grep ' > ' stdout && fail "on a terminal, --all: $(cat stdout)"

# JSON has the same contexts.
run prof --json --callers leaf --depth 2 known.prof "$profile"
[ "$(jq -c '.functions as $f | [.contexts, .whole_calls, [.tree[] | [$f[.function].name, .calls, .parent]]]' stdout)" = \
  '[{"callers":["leaf"]},92,[["leaf",39,-1],["left",10,0],["third",20,0],["down",9,0]]]' ] || fail "JSON: $(cat stdout stderr)"
[ ! -s stderr ] || fail "JSON: $(cat stderr)"
run prof --json --focus down known.prof "$profile"
[ "$(jq -c '[.functions[] | [.name, .calls]] | sort' stdout)" = '[["down",9],["leaf",9],["main",1],["right",3]]' ] ||
  fail "JSON: $(cat stdout stderr)"

# Under prof run, too; each thread apart, too; and with times there is the self time that belongs to a caller.
run prof run --callers first ./known
time='[0-9.-]+' waiting='( waiting [0-9.-]+)?' # which it has if the machine is busy
grep -qP "^first:$time/10 self $time$waiting\$" stderr && grep -qP "^\. left:$time/10 self $time$waiting\$" stderr ||
  fail "prof run --callers: $(cat stderr)"
run prof -t --callees first known.prof "$profile"
[ "$(grep -c '^first:-/10$' stdout)" = 1 ] || fail "-t --callees: $(cat stdout stderr)"
run prof -t --function nothing known.prof "$profile"
[ "$status" = 1 ] && [ "$(tail -n 1 stderr)" = "prof: --function nothing: matches no function in the profile" ] || fail "-t --function: $status $(cat stderr)"
run prof -t --callees nothing known.prof "$profile"
[ "$status" = 1 ] && [ "$(tail -n 1 stderr)" = "prof: --callees nothing: no function matches" ] || fail "-t: $status $(cat stderr)"

run prof --focus left --ignore 'lef' known.prof "$profile"
[ "$status" = 1 ] && [ "$(tail -n 1 stderr)" = "prof: --ignore lef: no function matches; did you mean leaf or left?" ] || fail "--ignore lef: $status $(cat stderr)"

# What cannot be.
for pattern in "--callers nothing" "--callees nothing" "--focus nothing" "--ignore nothing"; do
  # shellcheck disable=SC2086
  run prof $pattern known.prof "$profile"
  [ "$status" = 1 ] && [ "$(cat stderr | tail -n 1)" = "prof: $pattern: no function matches" ] && [ ! -s stdout ] ||
    fail "prof $pattern: $status $(cat stdout stderr)"
done
for arguments in "-s --json" "-r --by-module" "--chains --json" "--depth 3 --suggest" "--depth 0" "--depth x" "--percent 101" \
  "--percent x" "--sort nothing" "--percent 5 --suggest" "--callers a --callees b" "--focus a -g out" "--callers a --by-module"; do
  # shellcheck disable=SC2086
  run prof $arguments known.prof "$profile"
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof $arguments: $status $(cat stderr)"
done
