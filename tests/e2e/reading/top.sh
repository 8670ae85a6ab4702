# prof top: a running program, look by look, until it ends.
. "${0%/*}/../common.inc"
. "${0%/*}/../terminal.inc"

compile program "$programs/endless.c" -O1
rewrite program
{ PROFDIR=. exec ./program.prof >progress; } 2>/dev/null &
pid=$!
disown # no word about its end
trap 'kill -9 $pid 2>/dev/null' EXIT
until [ -s progress ]; do kill -0 $pid || fail "no program"; sleep 0.1; done

run prof top -n 2 -i 0.3 $pid
[ "$status" = 0 ] && [ ! -s stderr ] || fail "top: $status $(cat stderr)"
[ "$(grep -cP '^ +% +Self  Waiting +Calls/s\tName$' stdout)" = 2 ] || fail "not two tables: $(cat stdout)"
# On a busy machine it may not have run for so long: until it was seen twice.
prof top -i 0.2 $pid 2>stderr | awk '{ print } / [0-9][0-9][0-9]+\tround_of$/ && ++n == 2 { exit }' >stdout
[ "$(grep -cP ' [0-9]{3,}\tround_of$' stdout)" = 2 ] && [ ! -s stderr ] || fail "round_of: $(cat stdout stderr)"
# What it was kept from running is a column of its own, and what is not known to a tenth is a range.
grep -qP '^ *(~?[0-9.]+|-) +(0|[0-9.]+(-[0-9.]+)?[num]?s) +(0|[0-9.]+[num]?s) +[0-9]+\t' stdout || fail "no such rows: $(cat stdout)"
grep -qP '\x1b' stdout && fail "control sequences in a file"

# What was called before the first look is not in the table: no processor makes so many calls in a second.
rate=$(awk -F'\t' '/round_of$/ { split($1, f, " "); print f[4]; exit }' stdout)
[ "$rate" -lt 1000000000 ] || fail "calls a second: $rate"

run prof top -n 3 -i 0.2 --rows 1 $pid
[ "$status" = 0 ] && [ "$(grep -c '^ *~\?[0-9].*	' stdout)" -le 3 ] && [ "$(grep -c ' calls a second' stdout)" = 3 ] || fail "--rows 1: $(cat stdout)"

# On a terminal no line is wider than it.
for columns in 40 60; do
  on_terminal $columns prof top -n 4 -i 0.2 $pid
  sed -i 's/\x1b\[.//g' stdout
  grep -q 'round_of$' stdout && [ "$(widest)" -le $columns ] || fail "$columns columns: $(cat stdout)"
done

# The program ends after the first look, whenever that is.
: >stdout
{ until [ -s stdout ]; do sleep 0.1; done; kill -9 $pid; } &
run prof top -i 0.1 "prof.$pid"
[ "$status" = 0 ] && grep -q "^prof: prof.$pid: the program has ended$" stderr || fail "at the end: $status $(cat stderr)"
run prof top $pid
[ "$status" = 1 ] && grep -q "has ended" stderr || fail "after the end: $status $(cat stderr)"
run prof top 1
[ "$status" = 1 ] && grep -q "^prof: no profile of process 1 in the current directory or \$PROFDIR" stderr || fail "no profile: $(cat stderr)"
for wrong in "-i 0 $pid" "-n x $pid" "--rows 0 $pid" "-x $pid" "" "1 2"; do
  # shellcheck disable=SC2086 # a list of words
  run prof top $wrong
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] || fail "prof top $wrong: $status $(cat stderr)"
done
