# Coroutines and signal stacks, inside and outside the program's stack: the contexts are right.
. "$(dirname "$0")/../libprof/common.inc"

hooked stacks
for type in $types; do
  export PROFTYPE=$type
  record stacks
  diff <(sort stdout) <(awk '$1 == "call" { print "context", $3, $5 }' profile | sort) >contexts.diff ||
    fail "$type: (< expected, > recorded) $(head -n 5 contexts.diff | paste -sd ';')"
  grep -qx 'implausible times 0' profile || fail "$type: $(grep implausible profile)"
done
