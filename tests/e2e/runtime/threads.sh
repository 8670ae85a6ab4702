# A tree for each thread; the memory of ended threads is used again, their counts stay; whichever thread ends the process, and
# however, nothing is lost.
. "${0%/*}/../../libprof/common.inc"

hooked threads
hooked thread_ends
hooked live_threads
record threads 8 1 100000
same_calls "8 threads"
for type in $types; do
  export PROFTYPE=$type
  record threads 1000 10 50
  same_calls "10000 short threads"
  [ "$(grep -c '^thread ' profile)" -ge 10000 ] || fail "only $(grep -c '^thread ' profile) threads in the profile"
  size=$(stat -c %s profiles/prof.*)
  [ "$size" -lt 16000000 ] || fail "10000 short threads take $size bytes"
  # Mappings: two of a thread are its stack; with three of the runtime's, 10000 threads stay below what a process may have.
  record live_threads 1000 500
  same_calls "1000 live threads"
  mappings=$(sed -n 's/^mappings //p' stdout)
  [ "$mappings" -lt 5300 ] || fail "$type: $mappings mappings of 1000 live threads"
  for end in exit _exit quick_exit main pthread_exit exec; do
    turn || continue
    record thread_ends $end
    same_calls "threads alive at the end, $end"
    [ "$(grep -c '^thread ' profile)" -ge 11 ] || fail "$end: $(grep -c '^thread ' profile) threads"
  done
done

# As many mappings as there can be: threads that begin then cannot be recorded. They are not hindered, and their calls are
# counted as lost.
unset PROFTYPE
[ "$(cat /proc/sys/vm/max_map_count)" -le 1000000 ] || fail "vm.max_map_count is too large here for the program to use it up"
record live_threads 20 500 full
awk '/^calls/ { counted += $3 } /^total/ { recorded += $2 } /^thread/ { lost += $5 } /^pid/ { lost += $10 }
  END { print counted, recorded, lost; exit counted != recorded + lost || lost == 0 }' stdout profile >sum ||
  fail "no more mappings: calls counted, recorded, lost: $(cat sum)"
