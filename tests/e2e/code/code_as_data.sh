# Functions whose bytes are read, copied or changed through a pointer stay as they are, and the report says so; those that are only
# called through one are hooked.
. "${0%/*}/../common.inc"

read_as_data="copied copied_later summed summed_here compared sent patched row_first row_second"
called="doubled tripled ascending handle in_thread"
# stays FUNCTION REPORT: true if the report says that its bytes are read.
stays() {
  jq -e --arg f "$1" 'any(.skipped[]; .name == $f and (.reason | startswith("its bytes are read as data by the instruction at")))' "$2" >/dev/null
}

# Both in the order of the source.
compilers=gcc matrix code_as_data.c -fno-toplevel-reorder
compilers=clang matrix code_as_data.c
for report in gcc*.report clang*.report; do
  for function in $read_as_data; do stays "$function" "$report" || fail "$report: $function does not stay"; done
  for function in $called; do ! stays "$function" "$report" || fail "$report: $function stays"; done
done

# An argument that is the address of a function, or else leads to one by way of an object: a pointer to a member function.
cat >members.cc <<'EOF2'
#include <cstdio>
static int calls;
struct Base {
  int number = 3;
  __attribute__((noinline)) int plain(int x) { return ++calls, x * number; }
  virtual int over(int x) { return x + number; }
};
__attribute__((noinline)) int call(Base* b, int (Base::*member)(int), int x) { return (b->*member)(x); }
int main() {
  Base b;
  printf("%d %d\n", call(&b, &Base::plain, 4), call(&b, &Base::over, 5));
  printf("calls Base::plain(int) %d\n", calls);
}
EOF2
for CC in gcc clang; do
  for optimization in -O0 -O2; do
    compile members members.cc $optimization
    rewrite members
    profiled members
    expect_calls members <members.stdout
  done
done

# Callbacks in the order of their addresses: what only orders its argument does so with any pointer, so they have hooks.
cat >sorted.c <<'C'
#include "calls.h"
typedef int (*callback)(int);
static callback sorted[4];
static int registered;
KEPT int one(int x) { CALLED("one"); return x + 1; }
KEPT int two(int x) { CALLED("two"); return x * 2; }
KEPT void add(callback f) {
  int i = registered++;
  CALLED("add");
  for (; i > 0 && sorted[i - 1] > f; i--) sorted[i] = sorted[i - 1];
  sorted[i] = f;
}
int main(void) {
  add(two);
  add(one);
  printf("%d\n", sorted[0](3) + sorted[1](3));
  print_calls();
}
C
for CC in gcc clang; do
  compile sorted sorted.c -O2
  rewrite sorted
  jq -e 'all(.skipped[]; .name != "one" and .name != "two")' sorted.report >/dev/null || fail "callbacks that are sorted stay"
  profiled sorted
  expect_calls sorted <sorted.stdout
done

# A page of code that is written to a file and mapped elsewhere, where a function of it is called; with addresses of 64 bits in
# instructions, too.
cat >stub.c <<'C'
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include "calls.h"
extern char __start_stub[] __attribute__((visibility("hidden")));
static volatile uintptr_t place = 0x100000;
#define STUB __attribute__((noinline, section("stub")))
STUB __attribute__((aligned(4096))) int twice(int x) { int s = 0; for (int i = 0; i < 2; i++) { s += x; __asm__ volatile(""); } return s; }
STUB int triple(int x) { int s = 0; for (int i = 0; i < 3; i++) { s += x; __asm__ volatile(""); } return s; }
KEPT int here(int x) { CALLED("here"); return twice(x) + triple(x); }
KEPT int put(int f, const void* from, size_t size) { CALLED("put"); return write(f, from, size) == (ssize_t)size; }
KEPT uintptr_t moved(void) { CALLED("moved"); return (uintptr_t)triple + place - (uintptr_t)__start_stub; }
int main(void) {
  CALLED("main");
  int f = memfd_create("stub", 0);
  if (!put(f, __start_stub, 4096)) return 1;
  if (mmap((void*)place, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, f, 0) == MAP_FAILED) return 2;
  printf("%d %d\n", here(14), ((int (*)(int))moved())(14));
  print_calls();
  return 0;
}
C
for flags in "-no-pie -fno-pie" "-pie -fPIE" "-static -fno-pie" "-static -fno-pie -mcmodel=large"; do
  for CC in gcc clang; do
    in_order=
    [ "$CC" = clang ] || in_order=-fno-toplevel-reorder
    for optimization in -O0 -O2; do
      # shellcheck disable=SC2086 # a list of words
      compile stub stub.c $optimization $flags $in_order
      rewrite stub
      for function in twice triple; do stays "$function" stub.report || fail "stub, $CC $flags $optimization: $function does not stay"; done
      profiled stub
      expect_calls stub <stub.stdout
    done
  done
done
CC=gcc

# A checksum of all code from where the linker says that the program, or its code, begins: nothing is left to move.
cat >checksum.c <<'C'
#include <stdio.h>
extern const unsigned char FROM[], etext[];
int main(void) {
  unsigned sum = 0;
  for (const unsigned char* p = FROM; p < etext; ++p) sum = sum * 31 + *p;
  printf("%x\n", sum);
  return 0;
}
C
for from in __executable_start _init; do
  for link in pie no-pie; do
    # shellcheck disable=SC2046 # a list of words
    compile checksum checksum.c -O2 "-DFROM=$from" $(link_flags "$link")
    run profld -o checksum.prof checksum
    [ "$status" = 1 ] && grep -q 'none of its functions can get hooks; .* its bytes are read as data by the instruction at ' stderr ||
      fail "checksum from $from, $link: $(cat stderr)"
  done
done
