# 10^8 calls of 8 threads under 10000 signals a second, whose handler calls functions: every count is exact.
. "${0%/*}/../../libprof/common.inc"

hooked many
for type in $types; do
  export PROFTYPE=$type
  record many 100000000
  same_calls "10^8 calls, $type"
  [ "$(awk '/^calls (one|two|both)/ { sum += $3 } END { print sum }' stdout)" -ge 100000000 ] || fail "$(cat stdout)"
  [ "$(sed -n 's/^calls handle //p' stdout)" -gt 1000 ] || fail "few signals: $(cat stdout)"
done
