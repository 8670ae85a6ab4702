# Functions whose bytes are read, copied or changed through a pointer stay as they are, and the report says so; those that are only
# called through one are hooked.
. "${0%/*}/common.inc"

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
