# profld -b counts ways on from conditional jumps where that is cheaper than blocks: counts are exact, and unwinders find their way there.
# what they look for there.
. "${0%/*}/../common.inc"

cat >ways.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// How many bytes are alike, 0 to 4. Each comparison leads out, or to the next one.
long alike(const char *a, const char *b);
asm(".globl alike\n.type alike, @function\nalike:\n.cfi_startproc\n"
    "xor %eax, %eax\n"
    "2: mov (%rdi), %cl\ncmp (%rsi), %cl\njne 1f\n"
    "inc %eax\nmov 1(%rdi), %cl\ncmp 1(%rsi), %cl\njne 1f\n"
    "inc %eax\nadd $2, %rdi\nadd $2, %rsi\ncmp $4, %eax\njne 2b\n"
    "1: ret\n.cfi_endproc\n.size alike, . - alike\n");
int main(void) {
  long sum = 0;
  for (int i = 0; i < 1000; i++) {
    char other[] = "abcd";
    if (i % 10 < 4) other[i % 10] = '-';
    sum += alike("abcd", other);
  }
  printf("%ld\n", sum);
  fflush(stdout);
  abort();
}
C
for link in -pie -static; do
  for hooks in '' --no-hooks; do
    compile ways ways.c -O2 $link
    # shellcheck disable=SC2086 # it may be nothing
    rewrite ways -b $hooks
    objdump -d -w ways.prof >code
    grep -A1 'incq .*%gs:' code >increments
    grep -q 'jmp' increments || fail "$link $hooks: no way is counted"
    # Unwinders find what belongs to the code far away: a signal may come there.
    at=$((0x$(grep -B1 'jmp' increments | sed -n 's/^ *\([0-9a-f]*\):.*incq.*/\1/p' | tail -n 1)))
    readelf -wf ways.prof 2>/dev/null | sed -n 's/.* FDE .*pc=\([0-9a-f]*\)\.\.\([0-9a-f]*\)$/0x\1 0x\2/p' >ranges
    found=$(while read -r from to; do [ $at -lt $((from)) ] || [ $at -ge $((to)) ] || echo yes; done <ranges)
    [ "$found" = yes ] || fail "$link $hooks: no unwind table for a way's code"
    rm -f prof.*
    { ./ways.prof >stdout 2>stderr; } 2>killed
    [ "$(cat stdout)" = 3000 ] || fail "$link $hooks: $(cat stdout stderr)"
    prof --json ways.prof prof.[0-9]* >json 2>stderr || fail "$link $hooks: $(cat stderr)"
    read -r start size <<<"$(nm -S ways | sed -n 's/^\([0-9a-f]*\) \([0-9a-f]*\) T alike$/0x\1 0x\2/p')"
    jq -r '.blocks[] | "\(.address) \(.count)"' json >counts
    found=$(while read -r at count; do [ $((at)) -lt $((start)) ] || [ $((at)) -ge $((start + size)) ] || printf '%s ' "$count"; done <counts)
    [ "$found" = '1000 1800 1600 1400 1000 ' ] || fail "$link $hooks: $found"
  done
done
