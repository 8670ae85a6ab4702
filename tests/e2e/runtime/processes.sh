# A profile for each process that a program forks, each with the counts from its fork on and the right parent.
. "${0%/*}/../../libprof/common.inc"

hooked processes
record processes
: >recorded
for file in profiles/prof.*; do
  ./dump "$file" | awk '/^pid/ { pid = $2 } /^total/ { print pid, $4, $2 }' >>recorded
done
diff <(awk '$3 > 0' stdout | sort) <(sort recorded) >calls.diff || fail "$(head -n 5 calls.diff | paste -sd ';')"
[ "$(ls profiles | wc -l)" = 7 ] || fail "$(ls profiles | wc -l) profiles of 7 processes"
parent=$(awk '$2 == "nested" && $3 > 0 { print $1; exit }' stdout)
children=$(for file in profiles/prof.*; do ./dump "$file" | head -n 1; done | awk -v parent="$parent" '$4 == parent' | wc -l)
[ "$children" = 5 ] || fail "$children children of the first process, not 5"
