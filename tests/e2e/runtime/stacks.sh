# Coroutines and signal stacks, inside and outside the program's stack: the contexts are right.
. "${0%/*}/../../libprof/common.inc"

hooked stacks
for type in $types; do
  export PROFTYPE=$type
  record stacks
  diff <(sort stdout) <(awk '$1 == "call" { print "context", $3, $5 }' profile | sort) >contexts.diff ||
    fail "$type: (< expected, > recorded) $(head -n 5 contexts.diff | paste -sd ';')"
  grep -qx 'implausible times 0' profile || fail "$type: $(grep implausible profile)"
done

# The order that stacks are found by, which changes by the hundred thousand.
made index g++ -std=c++20 -O1 -I"$tests/.." -o index "$hand/stack_index.cc" "$tests/../libprof/stack/stack_index.cc" 2>compile.log ||
  fail "cannot compile: $(head -n 3 compile.log)"
./index >found || fail "$(cat found)"

# Coroutines that are left for ever, return, or wait by the thousand: those that are gone leave nothing in the profile, and one
# that waits takes less than two kilobytes.
hooked coroutines
at_most() { # BYTES: of the profile
  local size
  size=$(stat -c %s profiles/prof.*)
  [ "$size" -le "$1" ] || fail "$what: $size bytes"
}
for type in $types; do
  export PROFTYPE=$type
  for how in left shifted unmapped returned idle; do
    what="$type, $how"
    record coroutines $how 3000
    at_most 200000
    if [ $how = shifted ]; then
      same_calls "$what"
      continue
    fi
    diff <(sort stdout) <(awk '$1 == "call" { print "context", $3, $5 }' profile | sort) >contexts.diff ||
      fail "$what: (< expected, > recorded) $(head -n 5 contexts.diff | paste -sd ';')"
  done
  for how in "alive 3000" "turns 3000" "nested 30"; do
    what="$type, $how"
    # shellcheck disable=SC2086 # two words
    record coroutines $how
    at_most $((2 * 3000 * 1024))
    diff <(sort stdout) <(awk '$1 == "call" { print "context", $3, $5 }' profile | sort) >contexts.diff ||
      fail "$what: (< expected, > recorded) $(head -n 5 contexts.diff | paste -sd ';')"
  done
  for how in "left 500 1" "shifted 500 2" "unmapped 500 2" "returned 500 1" "idle 100 2" "alive 500 1" "alive 500 2" "turns 500 1" "turns 500 2" "nested 20 1"; do
    what="$type, $how, with signals"
    # shellcheck disable=SC2086 # three words
    record coroutines $how
    same_calls "$what"
  done
done

# What the runtime takes to change from one to the other is no function's time.
export PROFTYPE=elapsed
record coroutines alive 1000
grep -q '^own cycles [1-9]' profile && grep -qx 'missing cycles 0' profile && grep -qx 'too many cycles 0' profile ||
  fail "times: $(grep cycles profile | paste -sd ';')"
