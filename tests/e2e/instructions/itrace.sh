# Traces: what prof itrace and prof istat say of a program that was run one instruction at a time is what valgrind says of it.
. "${0%/*}/../common.inc"

compile branches "$programs/branches.c" -g -O1 -nostdlib -static -no-pie -fno-pie -fno-stack-protector -fcf-protection=none
./branches
expected=$?
run prof trace -o trace -- ./branches
[ "$status" = "$expected" ] || fail "prof trace: $status $(cat stderr)"

# Each instruction, its address and its length, as lackey has them.
valgrind --tool=lackey --trace-mem=yes --log-file=lackey.log ./branches
grep '^I  ' lackey.log | sed 's/^I  0*/I /' >lackey
prof itrace --lackey trace | grep '^I  ' | sed 's/^I  0*/I /' >ours
[ "$(wc -l <lackey)" -gt 3000 ] || fail "lackey saw $(wc -l <lackey) instructions"
cmp -s lackey ours || fail "not what lackey says: $(diff lackey ours | head -n 5)"

# Their number, and that of each function, as callgrind has them: it does not count the block in which the program ends.
valgrind --tool=callgrind --callgrind-out-file=callgrind ./branches 2>valgrind.log
run prof istat trace
[ "$status" = 0 ] && [ ! -s stderr ] || fail "istat: $status $(cat stderr)"
[ "$(head -n 1 stdout)" = "$(wc -l <lackey) instructions" ] || fail "istat: $(head -n 1 stdout)"
last=$(prof itrace trace | awk -F '\t' '$2 ~ /^0x/ { ++n } $4 ~ /^(j|call|ret)/ { n = 0 } END { print n }')
[ "$(head -n 1 stdout)" = "$(($(sed -n 's/^summary: //p' callgrind) + last)) instructions" ] ||
  fail "callgrind: $(grep ^summary: callgrind), and $last at the end"
grep -q 'exit [0-9]' stdout || fail "no exit status: $(sed -n 2p stdout)"
prof istat --json trace >json
callgrind_annotate --threshold=100 callgrind | sed -nE 's/^ *([0-9,]+) \([ 0-9.]+%\)  .*branches\.c:(\(below main\)|[a-z_]+) \[.*/\1 \2/p' | tr -d , |
  awk -v last="$last" '$2 == "(below" { $1 += last; $0 = $1 " _start" } { print }' | sort >theirs
[ "$(wc -l <theirs)" -gt 3 ] || fail "callgrind_annotate names no functions"
jq -r '.functions[] | "\(.instructions) \(.function)"' json | sort | cmp -s - theirs ||
  fail "functions: $(jq -r '.functions[] | "\(.instructions) \(.function)"' json | sort | diff - theirs)"

# Tables that have all instructions; a loop of 200 rounds; a pointer that leads to thrice each third time.
total() { jq "[.$1[].instructions] | add" json; }
for table in functions mix regions; do
  [ "$(total $table)" = "$(jq .instructions json)" ] || fail "$table add up to $(total $table)"
done
jq -e '[.lines[] | select(.file | endswith("branches.c"))] | length > 10' json >/dev/null || fail "lines: $(jq -c .lines json)"
jq -e 'all(.branches[]; .executions == .taken + .not_taken)' json >/dev/null || fail "branches: $(jq -c .branches json)"
jq -e 'any(.branches[]; .taken == 199 and .not_taken == 1)' json >/dev/null || fail "branches: $(jq -c .branches json)"
jq -e '[.targets[] | select(.target == "thrice") | .times] == [67]' json >/dev/null || fail "targets: $(jq -c .targets json)"
jq -e '[.targets[] | select(.target == "twice") | .times] == [133]' json >/dev/null || fail "targets: $(jq -c .targets json)"

# Caches as cachegrind has them.
caches=(--I1=512,2,64 --D1=512,2,64 --LL=2048,4,64)
valgrind --tool=cachegrind --cachegrind-out-file=cachegrind "${caches[@]}" ./branches 2>valgrind.log
read -r _ misses _ < <(sed -n 's/^summary: //p' cachegrind) || fail "cachegrind: $(tail -n 1 cachegrind)"
prof istat --only cache "${caches[@]}" --csv trace >csv
grep -q "^cache,[0-9]*,$misses,[0-9.]*,[0-9]*,[0-9.]*,instructions$" csv || fail "not $misses misses: $(cat csv)"

# Filters and forms.
prof itrace --function thrice trace >thrice
[ "$(cut -f 3 thrice | sed 's/+.*//' | sort -u)" = thrice ] && [ "$(grep -c $'\tret\t' thrice)" = 67 ] || fail "--function: $(head -n 3 thrice)"
first=$(head -n 1 thrice | cut -f 2)
[ "$(prof itrace --range "$first,+1" trace | wc -l)" = 67 ] || fail "--range"
prof itrace --range "0x0-$first" --not-function thrice trace | grep -q thrice && fail "--not-function"
prof itrace --last 2 trace >last
[ "$(wc -l <last)" = 2 ] && tail -n 1 last | grep -q $'\tsyscall$' || fail "--last: $(cat last)"
thread=$(head -n 1 thrice | cut -f 1)
[ "$(prof itrace --first 5 --thread "$thread" trace | grep -c $'\t0x')" = 5 ] || fail "--first"
[ -z "$(prof itrace --thread 1 trace)" ] || fail "--thread"
prof itrace --drcachesim -o view --first 2 --raw-names --debug-dir /nowhere trace
[ "$(grep -c ' ifetch  *[0-9]* byte(s) @ 0x' view)" = 2 ] || fail "--drcachesim: $(cat view)"
prof istat --only working-set --window 1000 --raw-names --debug-dir /nowhere trace >windows
[ "$(grep -cE '\s[0-9]+000-[0-9]+999$' windows)" -gt 2 ] || fail "--window: $(cat windows)"
prof istat --only mix -n 1 trace | grep -q '(1 of ' || fail "--rows"
prof istat --only mix --all --reuse --rows 3 trace >/dev/null || fail "--reuse"

# A repeated instruction is one.
compile repeated "$programs/branches.c" -DREPEAT -O1 -nostdlib -static -no-pie -fno-pie -fno-stack-protector -fcf-protection=none
prof trace -o repeated.trace -- ./repeated
prof itrace repeated.trace >listed
[ "$(grep -c 'rep stosb' listed)" = 1 ] || fail "rep: $(grep rep listed)"

# A part of a trace is read, and told.
head -c $(($(stat -c %s trace) / 2)) trace >part
run prof istat part
[ "$status" = 0 ] && grep -q '^prof: part: the trace is partial: ' stderr || fail "a part: $status $(cat stderr)"
sed -n 2p stdout | grep -q ', partial$' || fail "a part: $(sed -n 2p stdout)"

# What cannot be.
for arguments in "itrace" "itrace trace trace" "itrace --range 5 trace" "itrace --lackey --drcachesim trace" "itrace --nonsense trace" \
  "itrace --first x trace" "istat" "istat --only nonsense trace" "istat --json --csv trace" "istat --D1 1,2 trace" "istat --D1 96,1,32 trace" \
  "istat --window 0 trace"; do
  # shellcheck disable=SC2086 # a list of words
  run prof $arguments
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof $arguments: $status $(cat stderr)"
done
run prof istat --D1 x,1,32 trace
[ "$(cat stderr)" = "prof: --D1: invalid size 'x'; write 500K, 20M or 2G" ] || fail "--D1: $(cat stderr)"
for file in /nowhere /dev/null "$programs/branches.c"; do
  run prof istat "$file"
  [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof istat $file: $status $(cat stderr)"
done
