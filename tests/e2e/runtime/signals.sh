# Handlers that interrupt hooks, their slow paths included: every count is exact, and times stay those of the functions.
. "${0%/*}/../../libprof/common.inc"

hooked signals
for type in $types; do
  export PROFTYPE=$type
  for mode in "" alt "threads 4" "alt threads 3"; do
    # shellcheck disable=SC2086 # a list of words
    record signals 2 $mode
    same_calls "signals $mode, $type"
    handlers=$(sed -n 's/^calls handle //p' stdout)
    [ "$handlers" -gt 30 ] || fail "only $handlers signals came"
    wrong=$(sed -n 's/^implausible times //p' profile)
    [ "$wrong" -le $((handlers / 50 + 2)) ] || fail "signals $mode: $wrong contexts with impossible times after $handlers signals"
    grep -qx 'missing cycles 0' profile && grep -qx 'too many cycles 0' profile ||
      fail "signals $mode, $type: the times do not add up: $(grep cycles profile)"
  done
  for mode in jump "jump alt"; do
    # shellcheck disable=SC2086
    record signals 2 $mode
    grep -qx 'too many cycles 0' profile || fail "signals $mode, $type: the times do not add up: $(grep cycles profile)"
    for function in handle helper jumper; do
      counted=$(sed -n "s/^calls $function //p" stdout)
      recorded=$(awk -v name=$function '$1 == "total" && $4 == name { print $2 }' profile)
      [ "$counted" = "${recorded:-0}" ] || fail "signals $mode, $type: $function called $counted times, recorded $recorded"
    done
  done
done
