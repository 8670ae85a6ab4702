# The runtime does without the time-stamp counter while the program asks the kernel for something that would take it away.
# The kernel refuses, and the times are true.
. "${0%/*}/../../libprof/common.inc"

hooked counter_refused
for type in $types; do
  [ $type != adaptive ] || continue # calls are not timed meanwhile, so more are counted than the timed ones stand for
  for _ in 1 2 3; do
    PROFTYPE=$type record counter_refused 100000
    same_calls "$type"
    grep -qx 'implausible times 0' profile && grep -qx 'too many cycles 0' profile || fail "$type: $(grep -v '^call' profile | paste -sd ';')"
  done
done
