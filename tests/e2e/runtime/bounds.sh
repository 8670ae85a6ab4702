# Deep recursion, a function with very many callees, more contexts than nodes: memory stays bounded, counts exact.
. "${0%/*}/../../libprof/common.inc"

hooked bounds
record bounds deep 1000000
same_calls "recursion a million deep"
[ "$(header folded)" -gt 0 ] && [ "$(header nodes)" -lt 1000 ] || fail "recursion: $(head -n 1 profile)"
record bounds wide
same_calls "10^5 callees"
[ "$(header folded)" = 0 ] && [ "$(header lost)" = 0 ] || fail "10^5 callees: $(head -n 1 profile)"
for size in 100000 10k 100; do
  export PROFSIZE=$size
  record bounds contexts 300000
  same_calls "PROFSIZE=$size"
  [ "$(header nodes)" -le "${size/k/000}" ] || fail "PROFSIZE=$size: $(header nodes) nodes"
  [ "$(header folded)" -gt 0 ] && [ $(($(header flags) & 2)) = 2 ] || fail "PROFSIZE=$size: the profile does not say what was folded"
done
# Ten million different contexts, without a word on memory.
unset PROFSIZE
record bounds contexts 15000000
same_calls "10^7 contexts"
[ "$(header nodes)" -gt 3000000 ] && [ "$(header nodes)" -le 4000000 ] && [ "$(header lost)" = 0 ] || fail "10^7 contexts: $(head -n 1 profile)"
# Fewer nodes than functions and threads need: each thread gets those, a root and eight or nine functions.
for size in 1 2 3 10 100 300 500 1000; do
  for threads in 1 8 64; do
    export PROFSIZE=$size
    record bounds contexts 5000 $threads
    same_calls "PROFSIZE=$size, $threads threads"
    [ "$(header lost)" = 0 ] && [ "$(header folded)" -gt 0 ] || fail "PROFSIZE=$size, $threads threads: $(head -n 1 profile)"
    [ "$(header nodes)" -le $((size + threads * 10)) ] || fail "PROFSIZE=$size, $threads threads: $(header nodes) nodes"
  done
done
PROFSIZE=1 record bounds wide
same_calls "10^5 callees, PROFSIZE=1"
unset PROFSIZE
# No room for them: what is not recorded is counted.
ulimit -S -f 512
record bounds wide
ulimit -S -f unlimited
awk '/^calls/ { counted += $3 } /^total/ { recorded += $2 } /^thread/ { lost += $5 } END { exit counted != recorded + lost || lost == 0 }' \
  stdout profile || fail "no room: the lost calls were not counted"
