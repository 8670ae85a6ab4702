# A profile of a million contexts, in every view; in `make check' of 90,000.
. "${0%/*}/../common.inc"

n=$(few_or_all 300 1000)
compile contexts "$programs/contexts.cc" -std=c++20 -O1 "-DFUNCTIONS=$n"
rewrite contexts
PROFSIZE=2000000 profiled contexts
profile=$(echo contexts.profiles/prof.*)
# rows CALLS NAME: how many functions with that name were called so often.
rows() { grep -cP " $1 +\S+\tvoid $2<" stdout; }
run prof contexts "$profile"
# Where processors are fast and hooks are slow, most of the time is theirs.
[ "$status" = 0 ] && ! grep -v 'hooks took [0-9]* % of the time' stderr || fail "flat: $status $(cat stderr)"
[ "$(rows $n callee)" = $n ] || fail "flat: $(head -n 5 stdout)"
[ "$(rows 1 caller)" = $n ] || fail "flat: $(tail -n 5 stdout)"
for order in "" -s -r; do
  # shellcheck disable=SC2086
  run prof -d $order contexts "$profile"
  [ "$status" = 0 ] && [ "$(grep -c 'void callee<' stdout)" = $((n * n)) ] || fail "tree $order: $status $(head -n 5 stdout stderr)"
done
run prof --callers '*callee<5>*' contexts "$profile"
[ "$status" = 0 ] && [ "$(grep -c '^\. void caller<' stdout)" = $n ] || fail "callers: $status $(head -n 5 stdout stderr)"
run prof --callees '*call*' contexts "$profile"
[ "$status" = 0 ] && [ "$(grep -c 'void callee<' stdout)" = $((n * n)) ] || fail "callees: $status $(head -n 5 stdout stderr)"
run prof -d --ignore '*caller<5>*' contexts "$profile"
[ "$status" = 0 ] && [ "$(grep -c 'void callee<' stdout)" = $((n * (n - 1))) ] || fail "ignore: $status $(head -n 5 stdout stderr)"
run prof -t contexts "$profile"
[ "$status" = 0 ] && [ "$(rows $n callee)" = $n ] || fail "threads: $status $(head -n 5 stdout stderr)"
[ "$(prof --json contexts "$profile" | grep -o '"parent"' | wc -l)" -gt $((n * (n + 1))) ] || fail "json: too few nodes"
run prof diff -d contexts "$profile" contexts "$profile"
[ "$status" = 0 ] && [ ! -s stdout ] || fail "diff: $status $(head -n 5 stdout stderr)"
run prof diff -d --all contexts "$profile" contexts "$profile"
[ "$status" = 0 ] && [ "$(grep -c 'void callee<' stdout)" = $((n * n)) ] || fail "diff --all: $status $(head -n 5 stdout stderr)"
# An arc is 21 bytes of gmon.out.
run prof -g gmon.out contexts "$profile"
[ "$status" = 0 ] && [ "$(stat -c %s gmon.out)" -gt $((21 * n * n)) ] || fail "gmon.out: $status $(cat stderr)"
# Exports; gzip finds out if a file is not whole.
run prof --callgrind callgrind.out --pprof profile.pb.gz --speedscope profile.json contexts "$profile"
[ "$status" = 0 ] && gzip -t profile.pb.gz && [ "$(grep -c '^calls=' callgrind.out)" -gt $((n * n)) ] || fail "exports: $status $(cat stderr)"
[ "$(prof --csv contexts "$profile" | wc -l)" -gt $((2 * n)) ] || fail "csv: too few functions"
[ "$(prof --dot contexts "$profile" | wc -l)" -lt 1000 ] || fail "dot: too many functions"
# Folded stacks have no line for what took no time, and who can tell whether a callee did: if calls are counted only, each has its own.
PROFTYPE=count PROFSIZE=2000000 profiled contexts
[ "$(prof --folded contexts contexts.profiles/prof.* | grep -c ';void callee<[0-9]*>() 1$')" = $((n * n)) ] || fail "folded: too few contexts"
