# prof top: a running program, look by look, until it ends.
. "${0%/*}/common.inc"

compile program "$programs/endless.c" -O1
rewrite program
{ PROFDIR=. exec ./program.prof >progress; } 2>/dev/null &
pid=$!
disown # no word about its end
trap 'kill -9 $pid 2>/dev/null' EXIT
until [ -s progress ]; do kill -0 $pid || fail "no program"; sleep 0.1; done

run prof top -n 2 -i 0.3 $pid
[ "$status" = 0 ] && [ ! -s stderr ] || fail "top: $status $(cat stderr)"
[ "$(grep -c '^   %        Self  Waiting   Calls/s  Name$' stdout)" = 2 ] || fail "not two tables: $(cat stdout)"
[ "$(grep -cP ' [0-9]{3,}\tround_of$' stdout)" = 2 ] || fail "round_of: $(cat stdout)"
# What it was kept from running is a column of its own, and what is not known to a tenth is a range.
grep -qP '^ *~?[0-9.]+ +([0-9]+\.[0-9]{3}|[0-9.]+-[0-9.]+) +[0-9]+\.[0-9]{3} +[0-9]+\t' stdout || fail "no such rows: $(cat stdout)"
grep -qP '\x1b' stdout && fail "control sequences in a file"

# What was called before the first look is not in the table: no processor makes so many calls in a second.
rate=$(awk -F'\t' '/round_of$/ { split($1, f, " "); print f[4]; exit }' stdout)
[ "$rate" -lt 1000000000 ] || fail "calls a second: $rate"

# The program ends after the first look, whenever that is.
: >stdout
{ until [ -s stdout ]; do sleep 0.1; done; kill -9 $pid; } &
run prof top -i 0.1 "prof.$pid"
[ "$status" = 0 ] && grep -q "^prof: prof.$pid: the program has ended$" stderr || fail "at the end: $status $(cat stderr)"
run prof top $pid
[ "$status" = 1 ] && grep -q "has ended" stderr || fail "after the end: $status $(cat stderr)"
run prof top 1
[ "$status" = 1 ] && [ "$(cat stderr)" = "prof: no profile of process 1 in the current directory or \$PROFDIR" ] || fail "no profile: $(cat stderr)"
for wrong in "-i 0 $pid" "-n x $pid" "-x $pid" "" "1 2"; do
  # shellcheck disable=SC2086 # a list of words
  run prof top $wrong
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] || fail "prof top $wrong: $status $(cat stderr)"
done
