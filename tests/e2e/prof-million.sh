# A profile of a million contexts, in every view.
. "${0%/*}/common.inc"

compile contexts "$programs/contexts.cc" -std=c++20 -O1
rewrite contexts
PROFSIZE=2000000 profiled contexts
profile=$(echo contexts.profiles/prof.*)
run prof contexts "$profile"
[ "$status" = 0 ] && [ ! -s stderr ] || fail "flat: $status $(cat stderr)"
[ "$(grep -cE ' 1000	void callee<' stdout)" = 1000 ] || fail "flat: $(head -n 5 stdout)"
[ "$(grep -cE ' 1	void caller<' stdout)" = 1000 ] || fail "flat: $(tail -n 5 stdout)"
for order in "" -s -r; do
  # shellcheck disable=SC2086
  run prof -d $order contexts "$profile"
  [ "$status" = 0 ] && [ "$(grep -c 'void callee<' stdout)" = 1000000 ] || fail "tree $order: $status $(head -n 5 stdout stderr)"
done
run prof -t contexts "$profile"
[ "$status" = 0 ] && [ "$(grep -cE ' 1000	void callee<' stdout)" = 1000 ] || fail "threads: $status $(head -n 5 stdout stderr)"
[ "$(prof --json contexts "$profile" | grep -o '"parent"' | wc -l)" -gt 1001000 ] || fail "json: too few nodes"
# An arc is 21 bytes of gmon.out.
run prof -g gmon.out contexts "$profile"
[ "$status" = 0 ] && [ "$(stat -c %s gmon.out)" -gt 21000000 ] || fail "gmon.out: $status $(cat stderr)"
