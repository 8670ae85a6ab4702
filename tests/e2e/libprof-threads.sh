# A tree for each thread; the memory of ended threads is used again, their counts stay; whichever thread ends the process, and
# however, nothing is lost.
. "$(dirname "$0")/../libprof/common.inc"

hooked threads
hooked thread_ends
record threads 8 1 100000
same_calls "8 threads"
for type in $types; do
  export PROFTYPE=$type
  record threads 1000 10 50
  same_calls "10000 short threads"
  [ "$(grep -c '^thread ' profile)" -ge 10000 ] || fail "only $(grep -c '^thread ' profile) threads in the profile"
  size=$(stat -c %s profiles/prof.*)
  [ "$size" -lt 16000000 ] || fail "10000 short threads take $size bytes"
  for end in exit _exit quick_exit main pthread_exit exec; do
    record thread_ends $end
    same_calls "threads alive at the end, $end"
    [ "$(grep -c '^thread ' profile)" -ge 11 ] || fail "$end: $(grep -c '^thread ' profile) threads"
  done
done
