# prof shows the gmon.out of programs that gcc -pg built, and compares them with profiles of its own; and refuses damaged ones.
. "${0%/*}/../common.inc"

# A run of a program that gcc -pg built, and gprof's word on it. collatz has no function that calls itself, so gprof shows all
# calls.
# It has some samples on the fastest machine, too, and so has main: what it calls to print its result runs for 0.3 s.
cat >report.c <<'C'
#undef printf
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
int report(const char* format, ...) {
  const clock_t begun = clock();
  while (clock() - begun < 0.3 * CLOCKS_PER_SEC)
    for (volatile int i = 0; i < 100000; ++i) continue;
  va_list arguments;
  va_start(arguments, format);
  return vprintf(format, arguments);
}
C
compile pg "$programs/collatz.c" report.c -Dprintf=report -O1 -fno-inline -pg
GMON_OUT_PREFIX=one ./pg >/dev/null && mv one.* one
GMON_OUT_PREFIX=two ./pg >/dev/null && mv two.* two
shown() { # shown PROGRAM FILE...: what prof says as JSON, without a word
  run prof --json "$@"
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "prof $*: $status $(cat stderr)"
  jq -r '.functions[] | select(.calls > 0) | "\(.name) \(.calls)"' stdout | sort >calls
}
shown pg one
gprof -b -p pg one >flat 2>gprof.log || fail "gprof: $(cat gprof.log)"
awk 'NF == 7 && $4 ~ /^[0-9]+$/ { print $7, $4 }' flat | sort >expected
grep -qx 'step 62135400' expected || fail "gprof: $(cat flat)"
cmp -s calls expected || fail "calls: $(diff calls expected)"
awk 'NF == 7 || NF == 4 { print $NF, $3 }' flat | grep -v name >gprof.times
jq -r '.functions[] | select(.self_cycles > 0) | "\(.name) \(.self_cycles / 1e9)"' stdout >times
awk 'FILENAME == ARGV[1] { gprof[$1] = $2; next } { d = $2 - gprof[$1]; if (d > 0.0051 || d < -0.0051) { print; wrong = 1 } } END { exit wrong }' \
  gprof.times times || fail "times: $(cat flat times)"
jq -e '.type == "gmon" and .sample_period_ns == 10000000' stdout >/dev/null || fail "JSON: $(head -c 300 stdout)"

# Two runs, added up; in the table, with what there is no count of, and as a tree.
run prof pg one two
[ "$status" = 0 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q 'has no contexts' stderr || fail "two: $status $(cat stderr)"
[ "$(column Calls step)" = 124270800 ] && [ "$(column Calls nseq)" = 999998 ] || fail "two: $(cat stdout)"
[ "$(column Calls main)" = - ] || fail "main, which nobody counts the calls of: $(cat stdout)"
head -n 1 stdout | grep -qx 'pg, 2 profiles, a sample every 10.0ms, Total estimated' || fail "header: $(cat stdout)"
prof -d pg one >stdout 2>stderr || fail "tree: $(cat stderr)"
grep -qE '^main:' stdout && grep -qE '^\. nseq:.*/499999$' stdout && grep -qP '^\.\tstep:.*/62135400$' stdout || fail "tree: $(cat stdout)"
for options in --by-module --folded --csv --dot "-d --percent 1" "--callers step" "--focus nseq" "--callgrind /dev/null" -w; do
  # shellcheck disable=SC2086 # a list of words
  run prof $options pg one
  [ "$status" = 0 ] || fail "prof $options: $(cat stderr)"
done

# Without a program it is a.out's, as gprof has it.
cp pg a.out
run prof one
[ "$status" = 0 ] && [ "$(column Calls nseq)" = 499999 ] || fail "a.out: $(cat stdout stderr)"
rm a.out

# The program's own word, with recursion, and cycles, at a fixed address, too.
for link in pie no-pie; do
  # shellcheck disable=SC2046
  compile recursion "$programs/recursion.c" -O1 -pg $(link_flags "$link")
  rm -f many.*
  GMON_OUT_PREFIX=many ./recursion >said || fail "recursion: $?"
  shown recursion many.*
  sed -n 's/^calls //p' said | grep -v '^main ' | sort >expected # of main the count is not known
  [ -s expected ] || fail "recursion says nothing"
  while read -r line; do grep -qxF "$line" calls || fail "$link: $line; prof: $(cat calls)"; done <expected
done

# BSD's formats, and what gprof would refuse.
cat >convert.py <<'PY'
import struct, sys
gnu = open(sys.argv[1], 'rb').read()
at, bins, arcs = 20, None, []
while at < len(gnu):
    if gnu[at] == 0:
        low, high, n, rate = struct.unpack_from('<QQII', gnu, at + 1)
        bins = gnu[at + 41:at + 41 + 2 * n]
        at += 41 + 2 * n
    else:
        arcs.append(struct.unpack_from('<QQI', gnu, at + 1))
        at += 21
def write(name, *parts): open(name, 'wb').write(b''.join(parts))
raw = b''.join(struct.pack('<QQQ', *arc) for arc in arcs)
write('old', struct.pack('<QQI', low, high, 20 + len(bins)), bins, raw)
write('new', struct.pack('<QQIII', low, high, 40 + len(bins), 0x51879, rate), bytes(12), bins, raw)
short = b''.join(struct.pack('<III', *(n & 0xffffffff for n in arc)) for arc in arcs)
write('old32', struct.pack('<III', low, high, 12 + len(bins)), bins, short)
big = b''.join(struct.pack('>H', *struct.unpack_from('<H', bins, i)) for i in range(0, len(bins), 2))
unit = bytes('seconds', 'ascii').ljust(15, b'\0') + b's'
def record(low, high, rate, bins, order='<'): return b'\0' + struct.pack(order + 'QQII', low, high, len(bins) // 2, rate) + unit + bins
write('big', b'gmon', struct.pack('>I', 1), bytes(12), record(low, high, rate, big, '>'))
head = gnu[:20]
write('rate', head, record(low, high, 0, bins))
write('overlap', head, record(low, low + 16, 100, bytes(8)), record(low + 8, low + 24, 100, bytes(8)))
write('scale', head, record(low, low + 16, 100, bytes(8)), record(low + 16, low + 32, 100, bytes(16)))
write('tag', gnu, b'\7')
write('loader', b'gmon', struct.pack('<I', 0x1ffff), bytes(12))
write('later', b'gmon', struct.pack('<I', 9), bytes(12))
write('elsewhere', head, b'\1', struct.pack('<QQI', 1 << 40, 1 << 41, 5))
write('counts', head, b''.join(b'\1' + struct.pack('<QQI', *arc) for arc in arcs))
write('many', head, b'\2', struct.pack('<I', 0xffffffff))
PY
python3 convert.py one || fail "convert.py"
shown pg one
jq -c '[.functions[] | [.name, .calls, .self_cycles]] | sort' stdout >expected
for file in old new; do
  shown pg $file
  jq -c '[.functions[] | [.name, .calls, .self_cycles]] | sort' stdout >found
  cmp -s found expected || fail "$file: $(diff expected found)"
done
shown pg one old new
[ "$(jq '.functions[] | select(.name == "nseq").calls' stdout)" = 1499997 ] || fail "three formats: $(cat calls)"
refused() { # refused WORDS ARGUMENT...
  local words=$1
  shift
  timeout $forever prof "$@" >stdout 2>stderr
  status=$?
  [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof $*: $status $(cat stdout stderr)"
  grep -q "^prof: .*$words" stderr || fail "prof $*: says $(cat stderr), not $words"
}
refused "words of 32 bits" pg old32
refused "big-endian" pg big
refused "has no rate" pg rate
refused "overlap" pg overlap
refused "bins of different sizes" pg scale
refused "unknown kind 7" pg tag
refused "sprof" pg loader
refused "version 9" pg later
refused "none of its addresses" pg elsewhere
refused "cut off" pg many
refused "name that first" one
refused "is not a gmon.out" pg one pg
cp one two.libnone.so.1
refused "linked with none of this name" pg one two.libnone.so.1
for options in -t -p1 --processes --suggest; do
  run prof $options pg one
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] || fail "prof $options: $status $(cat stderr)"
done
size=$(stat -c %s one)
for ((i = 5; i < size; i += size / 12)); do
  head -c "$i" one >cut
  refused "cut off" pg cut
done
for ((i = 4; i < size; i += size / 12)); do
  cp one flipped
  printf '\xff' | dd of=flipped bs=1 seek="$i" conv=notrunc status=none
  timeout $forever prof -d pg flipped >stdout 2>stderr
  status=$?
  [ "$status" -le 1 ] && ! grep -qv ^prof: stderr || fail "byte $i: $status $(cat stderr)"
done

# Beside a run of the same program that profld rewrote: the same calls. Of main they are not known in the gmon.out.
compile plain "$programs/collatz.c" -O1 -fno-inline
rewrite plain
profiled plain
run prof diff --json pg one plain.prof plain.profiles/prof.*
[ "$status" = 0 ] || fail "diff: $status $(cat stderr)"
jq -e '.type == "gmon" and ([.functions[] | select(.name == "step" or .name == "nseq")] | length == 2 and
  all(.[]; .in == "both" and .calls.a == .calls.b and .calls.a > 0)) and
  any(.functions[]; .name == "main" and .in == "both" and (has("calls") | not))' stdout >/dev/null || fail "diff: $(cat stdout)"
run prof diff plain.prof plain.profiles/prof.* pg one
[ "$status" = 0 ] && grep -qP '\s499999\s.*\tnseq$' stdout || fail "diff: $(cat stdout stderr)"
run prof diff pg one two
[ "$status" = 0 ] && grep -qP '\s62135400\s.*\tstep$' stdout || fail "diff of two gmon.out: $(cat stdout stderr)"

# Without ticks calls are compared, where both sides know them: main's are no change.
prof -g plain.gmon plain.prof plain.profiles/prof.* 2>prof.log || fail "prof -g: $(cat prof.log)"
run prof diff --fail-above 0 pg counts plain plain.gmon
[ "$status" = 0 ] && grep -qP '^ *0 +0% +62135400\tstep$' stdout || fail "diff of counts: $status $(cat stdout stderr)"

# What prof -g writes, of the program and of a library.
cat >twice.c <<'C'
int twice(int n) { return 2 * n; }
C
cat >user.c <<'C'
int twice(int n);
__attribute__((noipa)) int thrice(int n) { return twice(n) + n; }
int main(void) {
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += thrice(i);
  return sum != 135;
}
C
compile libtwice.so.plain twice.c -O1 -shared -fPIC -Wl,-soname,libtwice.so.1
cp libtwice.so.plain libtwice.so.1
compile user user.c -O1 ./libtwice.so.1 '-Wl,-rpath,$ORIGIN'
rewrite user
profld --all -o libtwice.so.1.prof libtwice.so.plain || fail "profld libtwice"
mkdir copy libs && cp libtwice.so.1.prof copy/libtwice.so.1
PROFDIR=libs LD_LIBRARY_PATH=copy ./user.prof || fail "user: $?"
mv libtwice.so.plain libtwice.so.1
run prof -g gmon.out user.prof libs/prof.*
[ "$status" = 0 ] && [ -f gmon.out.libtwice.so.1 ] || fail "prof -g: $(cat stderr)"
run prof user gmon.out gmon.out.libtwice.so.1
[ "$status" = 0 ] && [ "$(column Calls 'twice [libtwice.so.1]')" = 10 ] || fail "library: $(cat stdout stderr)"
[ "$(column Calls thrice)" = 10 ] && [ "$(column Calls main)" = 1 ] || fail "program: $(cat stdout stderr)"
exit 0
