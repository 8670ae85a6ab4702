# gdb names the functions of a program with copies of its libraries as those of the original, by `set sysroot'. (The copy samples
# itself by signals, as prof(1) says.)
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache
cat >library.c <<'C'
__attribute__((noipa)) int deeper(int n) {
  volatile int sum = 0;
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}
__attribute__((noipa)) int outer(int n, int (*back)(int)) { return back(deeper(n)) + 1; }
C
cat >program.c <<'C'
int outer(int n, int (*back)(int));
__attribute__((noipa)) static int back(int n) {
  __asm__ volatile("int3");
  return n * 2;
}
int main(void) { return outer(5, back) == 3; }
C
compile liblibrary.so library.c -O1 -shared -fPIC -Wl,-soname,liblibrary.so
compile program program.c -O1 -L. -llibrary "-Wl,-rpath,$PWD"
# backtraces PROGRAM COMMAND...: at a breakpoint instruction, and where deeper is called.
backtraces() {
  local program=$1
  shift
  DEBUGINFOD_URLS='' PROFDIR=$PWD gdb -nx -q -batch -ex 'set width 0' -ex 'handle SIG32 nostop noprint pass' "$@" -ex 'set breakpoint pending on' -ex 'tbreak deeper' \
    -ex run -ex bt -ex continue -ex bt "$program" >gdb.log 2>&1 </dev/null
  sed -n 's/^#\([0-9]*\)  \(0x[0-9a-f]* in \)\{0,1\}\([^ ]*\) .*/\1 \3/p' gdb.log | awk '$1 == 0 { inside = 1 } inside; $2 == "main" { inside = 0 }' # what calls main is the C library's business
}
{ (exec prof run --libs ./program >/dev/null 2>run.log); } 2>/dev/null
root=$PWD/$(echo cache/prof/*/root)
backtraces ./program >expected
[ "$(grep -c '^0 ' expected)" = 2 ] && grep -q outer expected || fail "the program itself: $(cat gdb.log)"
backtraces "$root/.program$PWD/program" -ex "set sysroot $root" >found
cmp -s expected found || fail "$(diff expected found) $(cat gdb.log)"
