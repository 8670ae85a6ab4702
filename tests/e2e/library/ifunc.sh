# IFUNC resolvers of a library, which run while it is relocated, call functions that have hooks: at once (LD_BIND_NOW) or at the
# first call.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >helper.c <<'C'
__attribute__((noinline)) int deeper(int x) { return x * 2; }
int helper(int x) {
  return deeper(x) + 1;
}
C
cat >work.c <<'C'
int helper(int x);
static int chosen;
__attribute__((noinline)) static int own(int x) { return x + 3; }
static int add(int x, int y) { return x + y; }
static int subtract(int x, int y) { return x - y; }
typedef int operation(int, int);
__attribute__((noinline)) static operation* choose(int x) {
  chosen = own(x);
  return x > 4 ? add : subtract;
}
static operation* resolve(void) { return choose(own(own(2))); }
int operate(int x, int y) __attribute__((ifunc("resolve")));
static operation* resolve_hidden(void) { return choose(own(-9)); }
__attribute__((visibility("hidden"))) int operate_hidden(int x, int y) __attribute__((ifunc("resolve_hidden")));
operation* pointer = operate_hidden;
__attribute__((noinline)) int use(int x) { return operate(x, 2) + operate_hidden(x, 2) + pointer(x, 1); }
int work(int x) { return use(x) + use(x + 1) + helper(x); }
C
cat >host.c <<'C'
#include <stdio.h>
int work(int x), operate(int x, int y);
int main(void) {
  int sum = 0;
  for (int i = 0; i < 50; ++i) sum = sum * 3 + work(i) + operate(i, i);
  printf("%d\ncalls work 50\ncalls use 100\ncalls helper 50\ncalls deeper 50\n", sum);
  return 4;
}
C
compile plain/libhelper.so helper.c -O1 -shared -fPIC -Wl,-soname,libhelper.so
for how in lazy now; do
  compile plain/libwork.so work.c -O1 -shared -fPIC -Wl,-z,$how plain/libhelper.so -Wl,-soname,libwork.so
  for library in libhelper.so libwork.so; do library $library; done
  compile host host.c -O1 -Wl,-z,$how plain/libwork.so plain/libhelper.so
  compile host_no_pie host.c -O1 -fno-pie -no-pie -Wl,-z,$how plain/libwork.so plain/libhelper.so
  for host in host host_no_pie; do
    rewrite $host --no-imports
    for program in $host $host.prof; do
      for bind in LD_BIND_NOW=1 A=1; do
        with_copies env $bind ./$program
        [ "$status" = 4 ] || fail "$program $bind: status $status"
        same_calls "$program $bind" <stdout
      done
    done
  done
done
