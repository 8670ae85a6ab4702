# Without randomization the heap begins right after the data: programs that take what is there for their heap find it.
. "${0%/*}/../common.inc"

cat >heap.cc <<'C'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

extern "C" char end[];
static long nthrows, ncatches, ncompare;
struct Counted { ~Counted() { fflush(stdout); } };
extern "C" __attribute__((noinline)) void throws(int n) {
  ++nthrows;
  Counted counted;
  if (n > 2) throw n;
}
extern "C" __attribute__((noinline)) int catches(int n) {
  ++ncatches;
  try { throws(n); } catch (int thrown) { return thrown; }
  return 0;
}
extern "C" int compare(const void* a, const void* b) { ++ncompare; return *(const int*)a - *(const int*)b; }
int main(int, char** argv) {
  const int p = personality(0xffffffff);
  bool is_fixed = p & ADDR_NO_RANDOMIZE;
  if (!is_fixed && personality(p | ADDR_NO_RANDOMIZE) != -1) execv("/proc/self/exe", argv);
  char* first = (char*)(((uintptr_t)end + 4095) & ~4095ul);
  char* now = (char*)sbrk(0);
  if (is_fixed) {  // containers may forbid it
    puts(now >= first && now - first <= 0x40000 ? "behind the data" : "elsewhere");
    sbrk(1 << 16);
    for (volatile char* byte = first; byte < now; byte += 64) *byte = *byte;  // malloc may have it already
  }
  int numbers[] = {4, 1, 3, 2}, sum = 0;
  qsort(numbers, 4, sizeof *numbers, compare);
  for (int n : numbers) sum += catches(n);
  Dl_info info;
  printf("%d %s\n", sum, dladdr((void*)compare, &info) && info.dli_sname ? info.dli_sname : "?");
  printf("calls throws %ld\ncalls catches %ld\ncalls compare %ld\n", nthrows, ncatches, ncompare);
}
C
for compiler in gcc clang; do
  for options in "-O1 -rdynamic" -O2 "-O1 -fuse-ld=lld" "-O1 -s"; do
    # shellcheck disable=SC2086 # a list of words
    CC=$compiler compile heap heap.cc -no-pie -fno-pie $options
    for how in "" -b --discover; do
      # shellcheck disable=SC2086 # a list of words
      rewrite heap $how
      for type in $types; do
        turn || continue
        PROFTYPE=$type profiled heap
        [ "$options" = "-O1 -s" ] || expect_calls heap <heap.stdout
      done
    done
  done
done

# The heap is that of the original, and debuggers and unwinders find the copies in front of it.
readelf -lW heap.prof | awk '$1 == "LOAD" { last = $7 $8 } END { exit last != "RW0x1000" }' || fail "the last segment is not the data: $(readelf -lW heap.prof | grep LOAD)"
compile heap heap.cc -no-pie -fno-pie -O1 -g
rewrite heap
gdb -nx -batch -ex 'set startup-with-shell off' -ex 'break compare' -ex run -ex backtrace ./heap.prof </dev/null >gdb.log 2>&1
grep -q ' in .*main ' gdb.log && grep -q 'qsort' gdb.log || fail "gdb does not see through copies: $(tail -n 5 gdb.log)"
