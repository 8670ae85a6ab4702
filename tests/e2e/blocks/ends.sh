# profld -b loses no counts of children that threads fork, of one that shares its parent's memory, and of killed processes.
. "${0%/*}/../common.inc"

# 4 threads that count to 10 and fork a child that counts to 100, 3 times; 7 and 1000.
calls=$((4 * 3 * 2 + 2)) rounds=$((4 * 3 * (10 + 100) + 7 + 1000))
for link in -pie -static; do
  gcc -O1 -g $link -pthread -w -o ends "$programs/blocks_ends.c" || fail "$link: does not compile"
  profld --blocks -o ends.prof ends || fail "$link: profld"
  entry=$(nm ends | sed -n 's/^0*\([0-9a-f]*\) T counted$/\1/p')
  for end in kill return; do
    rm -f prof.*
    { ./ends.prof $end >stdout 2>stderr; } 2>killed # where bash says so
    [ "$(cat stdout)" = counted ] || fail "$link, $end: $(head -n 2 stderr)"
    prof --json ends.prof prof.[0-9]* >json 2>stderr || fail "$link, $end: $(cat stderr)"
    counts=$(python3 -c '
import json, sys
blocks = json.load(open("json"))["blocks"]
start = int(sys.argv[1], 16)
own = [b["count"] for b in blocks if start <= int(b["address"], 16) < start + 0x30]
print(own[0], max(own))' "$entry")
    [ "$counts" = "$calls $rounds" ] || fail "$link, $end: $counts, not $calls $rounds"
  done
done
