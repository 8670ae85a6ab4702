# Deep recursion, a function with very many callees, more contexts than nodes: memory stays bounded, counts exact.
. "$(dirname "$0")/../libprof/common.inc"

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
# Fewer nodes than functions: what is not recorded is counted.
PROFSIZE=3 record bounds contexts 10000
awk '/^calls/ { counted += $3 } /^total/ { recorded += $2 } /^thread/ { lost += $5 } END { exit counted != recorded + lost || lost == 0 }' \
  stdout profile || fail "PROFSIZE=3: the lost calls were not counted"
