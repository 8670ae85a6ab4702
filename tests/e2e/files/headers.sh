# Programs that run, with headers that are unusual: they are rewritten, and their copies run and count alike.
. "${0%/*}/../common.inc"

cat >base.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static long nf, ng, ncompare;
__thread int thread_local_word = 7;
static int many[5000];
int data[2000] = {1, 2, 3};
__attribute__((noinline)) int f(int x) { nf++; return x * 3 + thread_local_word; }
__attribute__((noinline)) int g(int x) {
  ng++;
  switch (x) {
    case 0: return f(1);
    case 1: puts("one"); return 4;
    case 2: return f(x) + 9;
    case 3: return 17;
    case 4: puts("four"); return f(-x);
    case 5: return 22;
    case 6: return f(8) * 2;
    case 7: return data[1];
    case 8: return many[3];
    default: return x;
  }
}
static int compare(const void* a, const void* b) { ncompare++; return *(const int*)a - *(const int*)b; }
int main(void) {
  long sum = 0;
  for (int i = 0; i < 12; i++) { sum += g(i); thread_local_word++; many[i] = 12 - i; }
  qsort(many, 12, sizeof *many, compare);
  for (int i = 0; i < 5000; i++) sum += many[i];
  printf("%ld\ncalls f %ld\ncalls g %ld\ncalls compare %ld\n", sum, nf, ng, ncompare);
  return 5;
}
C

# changed KIND FROM TO: changes what neither the kernel nor the dynamic linker reads, or what they allow.
changed() {
  python3 - "$@" <<'PY' || fail "cannot change $2"
import struct, sys
kind, source, target = sys.argv[1:]
d = bytearray(open(source, 'rb').read())
start, = struct.unpack_from('<Q', d, 32)
count, = struct.unpack_from('<H', d, 56)
# type flags offset address - filesz memsz align
P = [list(struct.unpack_from('<IIQQQQQQ', d, start + 56 * i)) for i in range(count)]
loads = [p for p in P if p[0] == 1]
end = max(p[2] + p[5] for p in loads)
if kind == 'cut':         # after the segments: the section headers name what is not there
    d = d[:end]
elif kind == 'half':      # in the middle of the section headers
    d = d[:-100]
elif kind == 'names':     # a section of a file that goes on after its end
    shoff, = struct.unpack_from('<Q', d, 40)
    n, = struct.unpack_from('<H', d, 60)
    struct.pack_into('<Q', d, shoff + 64 * (n - 1) + 32, 1 << 30)
elif kind == 'empty':     # segments of no bytes, for the notes
    for p in P:
        if p[0] == 4: p[:] = [1, 5, p[2] & ~4095, p[3] & ~4095, p[4], 0, 0, 4096]
elif kind == 'first':     # one of these in front of all others
    P.insert(0, P.pop(next(i for i, p in enumerate(P) if p[0] == 4)))
    P[0][:] = [1, 4, P[0][2] & ~4095, P[0][3] & ~4095, 0, 0, 0, 4096]
elif kind == 'longer':    # the last segment ends after the file, in the same page
    d = d[:end]
    p = loads[-1]
    p[5] = min(p[6], -(-end // 4096) * 4096 - p[2])
    assert p[2] + p[5] > end
else: sys.exit('no such kind')
for i, p in enumerate(P): struct.pack_into('<IIQQQQQQ', d, start + 56 * i, *p)
open(target, 'wb').write(d)
PY
  chmod +x "$3"
}
# right PROGRAM ORIGINAL: functions may have lost their names.
right() {
  rewrite "$1"
  profiled "$1"
  expect_calls_by_address "$1" "$2"
}
for link in $links; do
  turn || continue
  # shellcheck disable=SC2046 # lists of words
  compile "$link" base.c -O2 $(link_flags "$link")
  kinds="empty first"
  # In static programs nothing but sections tells where the unwind tables are.
  case $link in pie | no-pie) kinds="$kinds cut half names longer" ;; esac
  for kind in $kinds; do
    changed $kind "$link" "$link-$kind"
    right "$link-$kind" "$link"
  done
done

# Above 2^46, where all addresses are legal that a program can have.
compile high base.c -O2 -fPIE -pie -Wl,-Ttext-segment=0x555555554000
right high high

# A table of the dynamic linker's in two segments, one after the other.
compile long base.c -O2 -no-pie -fno-pie
for length in 2000 2400 2600 2700 5000; do
  cp long "long-$length"
  patchelf --set-rpath "/$(printf 'x%.0s' $(seq $length))" "long-$length" 2>patchelf.log || fail "patchelf: $(cat patchelf.log)"
  right "long-$length" "long-$length"
done

# In a static PIE a weak function that is not there has the address of its headers; no code is there, so what calls it can move.
cat >weak.c <<'C'
#include <stdio.h>
void absent(void) __attribute__((weak));
static long nmay;
__attribute__((noinline)) void may_call(int n) { nmay++; if (n > 5 && absent) absent(); }
int main(void) { for (int i = 0; i < 9; i++) may_call(i); printf("calls may_call %ld\n", nmay); return 0; }
C
for layout in separate-code noseparate-code; do
  compile weak weak.c -O1 -fPIE -static-pie -Wl,-z,$layout
  rewrite weak
  profiled weak
  expect_calls weak <weak.stdout
  jq -e 'all(.skipped[]; .reason | contains("code at 0x0 ") | not)' weak.report >/dev/null || fail "code at 0x0: $(jq -c .skipped weak.report)"
done
