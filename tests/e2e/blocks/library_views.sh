# What prof shows of the blocks of libraries: annotated source and instructions, files for gprof; prof run -b --libs, and
# profld -b --libs.
. "${0%/*}/../common.inc"
. "$tests/library.inc"
export XDG_CACHE_HOME=$PWD/cache
unset tabstop

cat >work.c <<'C'
int step(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += i;
  return sum;
}
int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += step(i);
  return sum;
}
C
cat >program.c <<'C'
#include <stdio.h>
int work(int n);
int twice(int n) {
  int sum = work(n);
  sum += work(n);
  return sum;
}
int main(void) {
  printf("%d\n", twice(10));
  return 3;
}
C
compile plain/libwork.so work.c -O0 -g -shared -fPIC -Wl,-soname,libwork.so
compile program program.c -O0 -g plain/libwork.so "-Wl,-rpath,$PWD/plain"
library libwork.so -b

# line COUNT NUMBER TEXT: a line of the annotated source in `stdout' ran so often.
line() { grep -qP "^ *$1( .*)? $2\t\Q$3\E\$" stdout || fail "line $2 did not run $1 times: $(cat stdout)"; }
# What prof said, but for what depends on the machine.
said() { grep -v ': hooks took [0-9]* % of the time' stderr; }
lines_of_library() {
  line 20 2 '  int sum = 0;'
  line 110 3 '  for (int i = 0; i < n; ++i)'
  line 90 4 '    sum += i;'
  line 2 8 '  int sum = 0;'
  line 22 9 '  for (int i = 0; i < n; ++i)'
  line 20 10 '    sum += step(i);'
}

# Under a program that is hooked, one whose blocks are counted, and one that stays as it is.
mkdir hooked counted
profld --no-imports -q -o hooked/program program && profld --no-imports -q -b -o counted/program program || fail "profld program"
for program in program hooked/program counted/program; do
  rm -rf profiles && mkdir profiles
  PROFDIR=profiles LD_LIBRARY_PATH=copy run ./$program
  [ "$status" = 3 ] && [ "$(cat stdout)" = 240 ] || fail "$program: status $status, $(cat stdout stderr)"
  of=$program
  [ $program != program ] || of=
  without="prof: $(echo profiles/prof.*): the program itself was not rewritten; shown is what its rewritten libraries did"
  # shellcheck disable=SC2086 # it may be nothing
  run prof --annotate $of --debug-dir plain profiles/prof.*
  [ "$status" = 0 ] || fail "$program: prof --annotate: $(cat stderr)"
  lines_of_library
  case $program in
    program) [ "$(said)" = "$without" ] || fail "$program: prof --annotate says: $(cat stderr)" ;;
    hooked/*) [ "$(said)" = 'prof: program: its blocks were not counted; executions of lines need profld -b' ] || fail "$program: $(cat stderr)" ;;
    counted/*)
      [ -z "$(said)" ] || fail "$program: prof --annotate says: $(cat stderr)"
      line 1 5 '  sum += work(n);'
      ;;
  esac
  # shellcheck disable=SC2086
  run prof --disassemble=step $of --debug-dir plain profiles/prof.*
  [ "$status" = 0 ] && ! said | grep -vxF "$without" || fail "$program: prof --disassemble: $status $(cat stderr)"
  awk -F'\t' '$1 ~ /\+0x0$/ { split($1, word, " "); first = word[1] } $2 ~ /^ +ret/ { split($1, word, " "); last += word[1] }
    END { exit !(first == 20 && last == 20) }' stdout || fail "$program: prof --disassemble: $(cat stdout)"
done

# Of a program without counts, and with.
rm -rf profiles && mkdir profiles
PROFDIR=profiles LD_LIBRARY_PATH=copy hooked/program >stdout
run prof --disassemble=twice hooked/program profiles/prof.*
[ "$(said)" = 'prof: program: its blocks were not counted; executions of instructions need profld -b' ] || fail "--disassemble says: $(cat stderr)"
run prof -g gmon.out hooked/program profiles/prof.*
[ "$(said)" = "prof: gmon.out: has what the program did; what libraries did is in gmon.out.libwork.so
prof: gmon.out.libwork.so.blocks: has this and counts of basic blocks, for gprof -l" ] && [ ! -e gmon.out.blocks ] || fail "prof -g says: $(cat stderr), leaves $(ls gmon.out*)"
gprof -l -C plain/libwork.so gmon.out.libwork.so.blocks >executions 2>gprof.log || fail "gprof: $(cat gprof.log)"
grep -qE 'work.c:1: \(step:0x[0-9a-f]+\) 20 executions' executions && grep -qE 'work.c:10: \(work:0x[0-9a-f]+\) 20 executions' executions ||
  fail "gprof: $(cat executions)"
rm -rf profiles gmon.out* && mkdir profiles
PROFDIR=profiles LD_LIBRARY_PATH=copy counted/program >stdout
run prof -g gmon.out counted/program profiles/prof.*
grep -qx 'prof: gmon.out.blocks, gmon.out.libwork.so.blocks: have this and counts of basic blocks, for gprof -l' stderr || fail "prof -g says: $(cat stderr)"
[ -s gmon.out.blocks ] && [ -s gmon.out.libwork.so.blocks ] || fail "prof -g leaves $(ls gmon.out*)"

# The copy alone is not the whole code.
run prof --annotate counted/program profiles/prof.*
grep -q '^prof: libwork.so: the file that was rewritten is not there; its copy has jumps at the beginnings of functions, and numbers there may be wrong$' stderr ||
  fail "without the original prof --annotate says: $(cat stderr)"

# prof run, with copies of its own, after copies without counts were made.
run prof run --libs ./program
[ "$status" = 3 ] || fail "prof run --libs: $status $(cat stderr)"
for libs in --libs '--libs=libwork*'; do
  run prof run -b "$libs" --annotate --output=annotated ./program
  [ "$status" = 3 ] && [ "$(cat stdout)" = 240 ] || fail "prof run -b $libs: $status $(cat stdout stderr)"
  cp annotated stdout
  lines_of_library
  line 1 5 '  sum += work(n);'
  ! grep 'the file that was rewritten is not there' stderr || fail "prof run -b $libs does not find the originals"
done
run prof run --trace --libs ./program
[ "$status" = 2 ] && grep -q -- "--trace and --libs exclude each other; --trace is of the program's own blocks" stderr || fail "prof run --trace --libs: $status $(cat stderr)"

# profld makes a folder of them.
profld -b --libs -o folder ./program >profld.log 2>&1 || fail "profld -b --libs: $(cat profld.log)"
rm -rf profiles && mkdir profiles
PROFDIR=profiles run folder/run-program
[ "$status" = 3 ] && [ "$(cat stdout)" = 240 ] || fail "run-program: $status $(cat stdout stderr)"
run prof --annotate "folder$PWD/program" profiles/prof.*
lines_of_library
line 1 5 '  sum += work(n);'
