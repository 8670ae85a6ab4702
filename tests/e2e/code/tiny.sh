# Functions of a few bytes, without padding: a short jump to a longer one, or the function stays; never a wrong program.
. "${0%/*}/../common.inc"

# Those without room for even a short jump, a lone ret for instance, may stay; then the report says so.
may_skip="nothing nothing_else zero same"
optimizations="-Os -O1"
matrix tiny.c -falign-functions=1 -fno-inline

# The only function, or the last of all: what little room there is, is that which aligns functions and sections.
check() {
  local source=$1 calls=$2 link
  for CC in gcc clang; do
    for link in $links; do
      turn || continue
      # shellcheck disable=SC2046 # lists of words
      compile lone "$source" -O2 $(link_flags "$link")
      rewrite lone
      profiled lone
      expect_calls lone <<<"$calls"
    done
  done
}
echo 'int main(void) { return 0; }' >only.c
check only.c "calls main 1"
cat >last.c <<'EOF2'
void last(void);
int main(void) {
  for (int i = 0; i < 100; ++i) last();
  return 0;
}
__attribute__((noinline)) void last(void) { __asm__ volatile(""); }
EOF2
check last.c "calls main 1
calls last 100"

# A number that is the address of an instruction too, and is only shifted, is no label that needs a jump of its own: glibc's start-up
# code has such a one, 0x410001. One that is kept may be a label (nonlocal_goto.sh).
cat >number.c <<'EOF2'
#include <stdio.h>
__attribute__((noinline, section("first"))) int times_three(int x) { return x * 3 + 1; }
int main(int argc, char** argv) {
  unsigned long n;
  __asm__ volatile("movl $0x410001, %k0; shl $39, %0" : "=r"(n));
  printf("%d %lx\ncalls times_three 1\n", times_three(argc), n);
  return 0;
}
EOF2
CC=gcc compile number number.c -O0 -static -no-pie -Wl,--section-start=first=0x410000 -Wl,-Ttext-segment=0x500000
rewrite number
profiled number
expect_calls number <number.stdout
