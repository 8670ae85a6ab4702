# tests/unstable names tests that there are, with the day on which each failed, and has at most five lines: more are a reason to
# fix what is there, not to list on.
. "${0%/*}/../common.inc"

listed=$(command grep -v '^#' "$tests/unstable")
[ -n "$listed" ] || exit 0
[ "$(wc -l <<<"$listed")" -le 5 ] || fail "more than 5 tests are listed"
while read -r test day rest; do
  [[ $day =~ ^20[0-9]{2}-[0-9]{2}-[0-9]{2}$ && -z $rest ]] || fail "not NAME YYYY-MM-DD: $test $day $rest"
  [[ $test = unit:* || $test = integration:* ]] || [ -f "$tests/e2e/$test.sh" ] || fail "there is no test $test"
done <<<"$listed"
