# A tree for each thread; the memory of ended threads is used again, their counts stay.
. "$(dirname "$0")/../libprof/common.inc"

hooked threads
record threads 8 1 100000
same_calls "8 threads"
record threads 500 6 50
same_calls "3000 short threads"
[ "$(grep -c '^thread ' profile)" -ge 3000 ] || fail "only $(grep -c '^thread ' profile) threads in the profile"
size=$(stat -c %s profiles/prof.*)
[ "$size" -lt 4000000 ] || fail "3000 short threads take $size bytes"
