# A handler that interrupted a hook forks: the child, which has no part of its parent's profile, goes on in that hook.
. "${0%/*}/../../libprof/common.inc"

hooked fork_in_handler
runs="elapsed:hooks elapsed:instruction elapsed:plain elapsed:syscall adaptive:hooks adaptive:plain count:hooks count:plain"
case $types in *cpu*) runs="$runs cpu:hooks cpu:plain" ;; esac
for run in $runs; do
  turn || continue
  export PROFTYPE=${run%:*}
  record fork_in_handler 100 "${run#*:}"
  grep -qx 'bad 0' stdout || fail "$run: $(grep bad stdout) of 100 children crashed"
  for file in profiles/prof.*; do
    ./dump "$file" | awk '/^pid/ { pid = $2 } /^total/ { print pid, $4, $2 }'
  done >recorded
  # A call whose hook the handler interrupted was begun by the parent and is made by both: the child may count one more.
  awk -v first="$(sed -n 's/^\([0-9]*\) handle.*/\1/p' stdout | tail -n 1)" '
    FILENAME == "recorded" { recorded[$1, $2] = $3; next }
    NF == 3 {
      difference = $3 - recorded[$1, $2]
      sum[$1] += difference
      if (difference < 0 || difference > 1 || $1 == first && difference != 0) { print $0, "recorded", recorded[$1, $2] + 0; wrong = 1 }
    }
    END { for (pid in sum) if (sum[pid] > 1) { print pid, "misses", sum[pid]; wrong = 1 } exit wrong }' recorded stdout >calls.log ||
    fail "$run: $(head -n 4 calls.log | paste -sd ';')"
done
