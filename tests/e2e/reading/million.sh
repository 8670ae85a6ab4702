# A profile of a million contexts, in every view.
. "${0%/*}/../common.inc"

compile contexts "$programs/contexts.cc" -std=c++20 -O1
rewrite contexts
PROFSIZE=2000000 profiled contexts
profile=$(echo contexts.profiles/prof.*)
# rows CALLS NAME: how many functions with that name were called so often.
rows() { grep -cP " $1 +\S+\tvoid $2<" stdout; }
run prof contexts "$profile"
# Where processors are fast and hooks are slow, most of the time is theirs.
[ "$status" = 0 ] && ! grep -v 'hooks took [0-9]* % of the time' stderr || fail "flat: $status $(cat stderr)"
[ "$(rows 1000 callee)" = 1000 ] || fail "flat: $(head -n 5 stdout)"
[ "$(rows 1 caller)" = 1000 ] || fail "flat: $(tail -n 5 stdout)"
for order in "" -s -r; do
  # shellcheck disable=SC2086
  run prof -d $order contexts "$profile"
  [ "$status" = 0 ] && [ "$(grep -c 'void callee<' stdout)" = 1000000 ] || fail "tree $order: $status $(head -n 5 stdout stderr)"
done
run prof --callers '*callee<5>*' contexts "$profile"
[ "$status" = 0 ] && [ "$(grep -c '^\. void caller<' stdout)" = 1000 ] || fail "callers: $status $(head -n 5 stdout stderr)"
run prof --callees '*call*' contexts "$profile"
[ "$status" = 0 ] && [ "$(grep -c 'void callee<' stdout)" = 1000000 ] || fail "callees: $status $(head -n 5 stdout stderr)"
run prof -d --ignore '*caller<5>*' contexts "$profile"
[ "$status" = 0 ] && [ "$(grep -c 'void callee<' stdout)" = 999000 ] || fail "ignore: $status $(head -n 5 stdout stderr)"
run prof -t contexts "$profile"
[ "$status" = 0 ] && [ "$(rows 1000 callee)" = 1000 ] || fail "threads: $status $(head -n 5 stdout stderr)"
[ "$(prof --json contexts "$profile" | grep -o '"parent"' | wc -l)" -gt 1001000 ] || fail "json: too few nodes"
run prof diff -d contexts "$profile" contexts "$profile"
[ "$status" = 0 ] && [ ! -s stdout ] || fail "diff: $status $(head -n 5 stdout stderr)"
run prof diff -d --all contexts "$profile" contexts "$profile"
[ "$status" = 0 ] && [ "$(grep -c 'void callee<' stdout)" = 1000000 ] || fail "diff --all: $status $(head -n 5 stdout stderr)"
# An arc is 21 bytes of gmon.out.
run prof -g gmon.out contexts "$profile"
[ "$status" = 0 ] && [ "$(stat -c %s gmon.out)" -gt 21000000 ] || fail "gmon.out: $status $(cat stderr)"
# Exports; gzip finds out if a file is not whole.
run prof --callgrind callgrind.out --pprof profile.pb.gz --speedscope profile.json contexts "$profile"
[ "$status" = 0 ] && gzip -t profile.pb.gz && [ "$(grep -c '^calls=' callgrind.out)" -gt 1000000 ] || fail "exports: $status $(cat stderr)"
[ "$(prof --csv contexts "$profile" | wc -l)" -gt 2000 ] || fail "csv: too few functions"
[ "$(prof --dot contexts "$profile" | wc -l)" -lt 1000 ] || fail "dot: too many functions"
# Folded stacks have no line for what took no time, and who can tell whether a callee did: if calls are counted only, each has its own.
PROFTYPE=count PROFSIZE=2000000 profiled contexts
[ "$(prof --folded contexts contexts.profiles/prof.* | grep -c ';void callee<[0-9]*>() 1$')" = 1000000 ] || fail "folded: too few contexts"
