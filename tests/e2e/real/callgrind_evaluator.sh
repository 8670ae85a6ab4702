# A C++ program full of exceptions counts as callgrind does, function by function. (Real programs: make callgrind.)
. "${0%/*}/../callgrind.inc"

for link in pie static; do
  # shellcheck disable=SC2046 # lists of words
  compile evaluator "$programs/evaluator.cc" -O2 -g $(link_flags $link)
  agrees evaluator $link
done
[ "$(wc -l <evaluator.callgrind)" -gt 300 ] || fail "only $(wc -l <evaluator.callgrind) functions compared"
