# Small loops stand several times in a copy that counts its blocks: what ran is counted all the same, while it runs as well, and
# what samples find in any of these times is of the original's one.
. "${0%/*}/../common.inc"

unset XDG_CACHE_HOME
export HOME=$PWD/home

# check_times JSON: for each line "FUNCTION TIMES..." in the file expected, a block of the function ran so often, and none much
# more often: the end of the inner loop of nested() is looked for once more in each of its 150 rounds.
check_times() {
  nm -S program >symbols
  python3 - "$1" <<'P'
import json, sys
ranges = {}
for line in open("symbols"):
    words = line.split()
    if len(words) == 4:
        ranges[words[3].split(".")[0]] = (int(words[0], 16), int(words[0], 16) + int(words[1], 16))
blocks = [(int(b["address"], 16), b["count"]) for b in json.load(open(sys.argv[1]))["blocks"]]
if len(set(address for address, _ in blocks)) != len(blocks):
    sys.exit("a block is listed twice")
for line in open("expected"):
    name, *times = line.split()
    start, end = ranges[name]
    counts = [count for address, count in blocks if start <= address < end]
    times = [int(word) for word in times]
    if not set(times) & set(counts) or max(counts) > max(times) + 151:
        sys.exit(f"{name} ran {times} times, not {counts}")
P
}

for compiler in gcc clang; do
  # Loops as they are written.
  flags=(-fno-tree-vectorize -fno-unroll-loops -fno-tree-loop-distribute-patterns)
  [ $compiler = gcc ] || flags=(-fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fno-builtin)
  for level in -O0 -O1 -O2 -Os; do
    turn || continue
    CC=$compiler compile program "$programs/loops.c" "$level" -g "${flags[@]}"
    ./program >expected
    for hooks in --no-hooks --no-imports; do
      rm -f prof.*
      profld -q -b $hooks -o copy program || fail "$compiler $level: profld $hooks"
      readelf -SW copy | grep -q '\.prof\.loops' || fail "$compiler $level: no loop stands several times"
      PROFTYPE=count run ./copy
      [ "$status" = 0 ] && cmp -s stdout expected || fail "$compiler $level $hooks: ended with $status: $(cat stdout stderr)"
      prof --json copy prof.*[0-9] >json 2>stderr || fail "$compiler $level: $(cat stderr)"
      check_times json >stdout 2>&1 || fail "$compiler $level $hooks: $(cat stdout)"
    done
  done
done

# The counts of a loop that does not end are there while it runs, and after a kill.
compile program "$programs/loops.c" -O1 -g
profld -q -b --no-hooks -o copy program
# most JSON: how often the block ran that did so most often.
most() { jq '[.blocks[].count] | max' "$1"; }
rm -f prof.*
PROFTYPE=count ./copy endless &
until prof --json prof.[0-9]* >json 2>stderr && [ "$(most json)" -gt 1000000 ]; do sleep 0.1; done
kill -9 $! && wait $! 2>/dev/null
prof --json prof.[0-9]* >after 2>stderr
[ "$(most after)" -ge "$(most json)" ] || fail "after a kill: $(most after), before: $(most json): $(cat stderr)"

# The time of a loop is where the original has it: not at the jump after which its other times stand.
rm -f prof.*
run prof run ./program 40000000
[ "$status" = 0 ] || fail "prof run: $status $(cat stderr)"
for what in cached gone; do
  run prof --annotate=divide ./program prof.*[0-9]
  perl -ne '
  my %unit = (ns => 1e-9, us => 1e-6, ms => 1e-3, s => 1);
  next unless /^\s*\d+\s+([\d.]+)(?:-([\d.]+))?(ns|us|ms|s)\s/;
  my $time = (defined $2 ? ($1 + $2) / 2 : $1) * $unit{$3};
  $all += $time;
  $there += $time if /the division/;
  END { exit !($all > 0.05 && $there > 0.6 * $all) }' stdout || fail "the time of a loop, its copy is $what: $(cat stdout stderr)"
  rm -rf home/.cache
done

# A debugger stops at a probe in a small loop each time.
cat >probed.c <<'C'
#include <stdio.h>
__asm__(".pushsection .stapsdt.base, \"a\", @progbits\nprobes_base: .space 1\n.popsection\n");
int main(int argc, char** argv) {
  long sum = argc;
  (void)argv;
  for (int i = 0; i < 11; ++i)
    __asm__ volatile(
        "1: nop\n"
        ".pushsection .note.stapsdt, \"\", @note\n.balign 4\n.long 992f - 991f, 994f - 993f, 3\n991: .asciz \"stapsdt\"\n"
        "992: .balign 4\n993: .quad 1b, probes_base, 0\n.asciz \"app\"\n.asciz \"round\"\n.asciz \"\"\n994: .balign 4\n"
        ".popsection\nadd $2, %0\n"
        : "+r"(sum));
  printf("%ld\n", sum);
}
C
compile probed probed.c -O1 -no-pie
profld -q -b -o copy probed
printf 'break -probe-stap app:round\ncommands\nsilent\necho stopped\\n\ncontinue\nend\nrun\n' >script
DEBUGINFOD_URLS='' PROFDIR=$PWD timeout $forever gdb -nx -q -batch -x script ./copy >gdb.log 2>&1 </dev/null
[ "$(grep -c '^stopped' gdb.log)" = 11 ] || fail "stops at a probe: $(cat gdb.log)"

# A loop at the very beginning of a function, after ENDBR64: the entry hook runs once a call.
cat >first.c <<'C'
#include <stdio.h>
__attribute__((noinline)) static int first(long n) {
  volatile char buffer[16];
  do buffer[n & 15] = (char)n;
  while (--n);
  int s = 0;
  for (int i = 8; i < 16; i++) s = s * 3 + buffer[i];
  return s;
}
__attribute__((noinline)) static long second(long n) {
  do n -= 3;
  while (n > 0);
  return n;
}
int main(void) {
  long s = 0;
  for (int i = 0; i < 10; ++i) s += first(100) + second(1000 + i);
  printf("%ld\n", s);
}
C
for compiler in gcc clang; do
  for level in -O1 -Os; do
    CC=$compiler compile first first.c "$level" -fcf-protection
    profld -q -b -o copy first
    ./first >expected
    rm -f prof.*
    run ./copy
    [ "$status" = 0 ] && cmp -s expected stdout || fail "$compiler $level: ended with $status, $(cat stdout), not $(cat expected)"
    prof --json copy prof.*[0-9] >json 2>stderr
    [ "$(jq '[.functions[] | select(.name == "first" or .name == "second") | .calls] | max' json)" = 10 ] || fail "$compiler $level: $(jq -c .functions json)"
  done
done
