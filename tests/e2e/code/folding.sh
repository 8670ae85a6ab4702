# Linkers that fold functions of the same code into one (ICF): one function, under several names.
. "${0%/*}/../common.inc"

cat >program.c <<'END'
#include "calls.h"

KEPT static int first(int n) { return n * 3 + 1; }
KEPT static int second(int n) { return n * 3 + 1; }
KEPT int third(int n) { return n * 3 + 1; }
KEPT int fourth(int n) { return first(n) + second(n) + third(n); }
static int (*volatile pointers[])(int) = {first, second, third, fourth};

int main(void) {
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += first(i) + 2 * second(i) + 3 * third(i) + fourth(i) + pointers[i % 4](i);
  printf("%d, %d the same\n", sum, (pointers[0] == pointers[1]) + (pointers[1] == pointers[2]));
  return 0;
}
END
for linker in gold lld; do
  for link in pie no-pie static; do
    # shellcheck disable=SC2046 # lists of words
    compile program program.c -O2 -ffunction-sections -fuse-ld=$linker -Wl,--icf=all $(link_flags $link)
    rewrite program
    profiled program
    grep -q '2 the same' program.stdout || fail "$linker did not fold"
    flatten program
    # 300 + 300 in the loop and in `fourth`, 3 in 4 pointers, and `fourth` through 1 in 4.
    folded=$(awk -F'\t' '$2 ~ /^(first|second|third)$/ { n += $1 } END { print n }' program.calls)
    [ "$folded" = $((300 + 300 + 75 + 75)) ] || fail "$linker $link: $folded calls of the folded function"
    grep -qP '^125\tfourth\t' program.calls || fail "$linker $link: fourth: $(grep fourth program.calls)"
  done
done
