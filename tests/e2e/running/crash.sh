# A crash inside profiled functions: the core dump shows the right backtrace, and the profile has every call.
. "${0%/*}/../common.inc"

cat >crash.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noipa))
KEPT int leaf(int x) { return x + 1; }
KEPT int innermost(volatile int* p) { return leaf(1) + *p; }
KEPT int compare(const void* a, const void* b) { return *(const int*)a == 3 ? innermost(NULL) - 1 : leaf(*(const int*)b); }
KEPT int middle(int x) {
  int numbers[4] = {3, 3, 3, 3};
  qsort(numbers, 4, sizeof numbers[0], compare);
  return numbers[0] + x;
}
int main(int argc, char** argv) {
  for (int i = 0; i < 100; i++) leaf(i);
  return middle(argc) + (argv == NULL);
}
C
for link in pie static; do
  # shellcheck disable=SC2046
  compile "crash-$link" crash.c -O2 -g $(link_flags $link)
  rewrite "crash-$link"
  profiled "crash-$link" 2>/dev/null
  [ "$status" = 139 ] || fail "$link: status $status"
  flatten "crash-$link"
  for expected in $'101\tleaf' $'1\tmiddle' $'1\tcompare' $'1\tinnermost'; do
    grep -qF "$expected" "crash-$link.calls" || fail "$link: no $expected in $(paste -sd ' ' "crash-$link.calls")"
  done
  gdb -q -batch -ex run -ex 'generate-core-file made.core' "./crash-$link.prof" >gdb.log 2>&1 </dev/null
  [ -s made.core ] || fail "$link: no core: $(tail -n 2 gdb.log)"
  gdb -q -batch -ex bt "./crash-$link.prof" made.core >backtrace 2>&1 </dev/null
  order=$(sed -nE 's/^#[0-9]+ .* in (innermost|compare|middle|main) \(.*/\1/p' backtrace | uniq | paste -sd ' ')
  [ "$order" = "innermost compare middle main" ] || fail "$link: backtrace: $order: $(grep '^#' backtrace | head -n 8)"
  rm -f made.core prof.*
done
