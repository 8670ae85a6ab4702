# prof --bolt: how often control took each way in the program's functions, exactly, as BOLT reads it.
. "${0%/*}/../common.inc"

cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int step(int x) { return x % 3 == 0 ? x / 3 : x + 1; }
/* Two tables of jumps that have places in common, and cases that go on to the next one. */
__attribute__((noinline)) int choose(int x, int y) {
  int sum = 0;
  switch (x) {
    case 0: sum += 5; break;
    case 1: sum += y; /* fall through */
    case 2: sum ^= 77; break;
    case 3: sum -= x; goto last;
    case 4: sum *= y + 3; break;
    case 5: return y;
    case 6: last: sum += step(y); y = 5; break;
    default: break;
  }
  switch (y) {
    case 0: sum += 1; break;
    case 1: return sum;
    case 2: sum <<= 1; break;
    case 3: sum -= 9; goto last;
    case 4: sum += step(sum); break;
    case 5: sum |= 8; break;
  }
  return sum;
}
__attribute__((noinline)) int down(int n) { return n == 0 ? 0 : down(n - 1) + step(n); }
int main(int argc, char** argv) {
  int sum = argc > 1 ? 500 : 0;
  for (int i = 0; i < 7000; ++i) sum += choose(i % 7, i * 11 % 97 % 6);
  sum += down(30);
  int (*volatile f)(int, int) = choose;
  for (int i = 0; i < 5; ++i) sum += f(9, 9);
  printf("%d\n", sum);
  return 0;
}
END
# BOLT warns of functions that the compiler divided; and that which it instruments says of a way that begins with a nop that it is
# the nop's.
flags="-O2 -fno-reorder-blocks-and-partition -fcf-protection=none -fno-ipa-cp"
compiled() { gcc $flags "${@:2}" -o "$1" program.c || fail "gcc ${*:2}"; }
compiled program -Wl,--emit-relocs -fno-align-loops -fno-align-jumps -fno-align-labels
./program >expected

run prof run --bolt counts ./program
[ "$status" = 0 ] && cmp stdout expected || fail "prof run --bolt: status $status, $(cat stderr)"
! grep -E 'estimates|emit-relocs|build-id' stderr || fail "$(cat stderr)"

# Each line: a flag, a name and an offset, twice; 0; a count.
! grep -vE '^[01] [^ ]+ [0-9a-f]+ 1 [^ ]+ [0-9a-f]+ 0 [1-9][0-9]*$' counts || fail "lines"
# Calls: from the program's code, and from elsewhere.
calls() { awk -v f="$1" -v unknown="$2" '$5 == f && $6 == 0 && $2 != f && ($2 == "[unknown]") == unknown { n += $8 } END { print n + 0 }' counts; }
[ "$(calls choose 0) $(calls choose 1)" = "7000 5" ] || fail "calls of choose: $(calls choose 0) $(calls choose 1)"
[ "$(calls main 1)" = 1 ] || fail "calls of main: $(calls main 1)"
# Names of local functions have numbers.
grep -q '^1 down [0-9a-f]* 1 step/1 0 0 30$' counts && grep -q '^1 down [0-9a-f]* 1 down 0 0 30$' counts || fail "$(grep down counts)"

# What comes to each place of a function goes on from there: BOLT's blocks have the counts that BOLT itself finds, whose runtime
# counts the same ways.
bolt=$(compgen -G '/usr/lib/llvm-*/bin/llvm-bolt' | head -n 1)
"$bolt" program -instrument -instrumentation-file="$PWD/theirs" -o instrumented >bolt.log 2>&1 || fail "llvm-bolt -instrument: $(tail -n 2 bolt.log)"
./instrumented | cmp - expected || fail "BOLT's program"
ways() { awk '$2 == $5 && ($2 == "choose" || $2 == "down" || $2 == "main" || $2 == "step/1")' "$1" | sort; }
diff <(ways theirs) <(ways counts) >differences || fail "ways: $(head -n 8 differences)"

# optimized PROGRAM COUNTS
optimized() {
  "$bolt" "$1" -data "$2" -o faster -reorder-blocks=ext-tsp -reorder-functions=hfsort -split-functions -dyno-stats >bolt.log 2>&1 ||
    fail "llvm-bolt: $(tail -n 2 bolt.log)"
  # The object that BOLT ignores is [unknown].
  ! grep -E 'stale|invalid' bolt.log && grep -q 'profile for 1 objects was ignored' bolt.log || fail "llvm-bolt does not take all: $(grep ignored bolt.log)"
  ./faster | cmp - expected || fail "$1, made faster, does something else"
}
optimized program counts
compiled aligned -Wl,--emit-relocs
run prof run --bolt aligned.counts ./aligned
[ "$status" = 0 ] || fail "aligned: $status $(cat stderr)"
optimized aligned aligned.counts

# Tables of jumps of all kinds: what profld takes for entries after their ends is no way for BOLT.
for source in adjacent_tables switch two_level tail_calls exceptions; do
  for compiler in gcc clang; do
    file=$(compgen -G "$programs/$source.c*")
    undivided=-fno-reorder-blocks-and-partition
    [ $compiler = gcc ] || undivided=
    # shellcheck disable=SC2086 # it may be nothing
    CC=$compiler compile "$source-$compiler" "$file" -O2 $undivided -Wl,--emit-relocs
    "./$source-$compiler" >expected
    run prof run --bolt tables.counts "./$source-$compiler"
    [ "$status" = 0 ] || fail "$source by $compiler: $status $(cat stderr)"
    optimized "$source-$compiler" tables.counts
  done
done

# Local functions and data of one name, in order of their addresses; code that a linker made one of two; a name with a blank; a
# function of assembly that does not say where it ends, and leaves it by a conditional jump.
cat >a.c <<'END'
#include <stdio.h>
__attribute__((noinline)) static int f(int x) { return x * 7 % 5; }
int b(int), c(int), odd(int), ends_nowhere(int);
__attribute__((noinline)) int odd(int x) { return x > 3 ? x : x * 2; }
__asm__(".pushsection .text\n.globl ends_nowhere\n.type ends_nowhere, @function\nends_nowhere:\n.cfi_startproc\n"
        "test %edi, %edi\njne b\nmov $1, %eax\nret\n.cfi_endproc\n.popsection");
int main(void) {
  int sum = 0;
  volatile int v;
  for (int i = 0; i < 1000; ++i) v = i, sum += f(v) + b(i) + c(i) + odd(i) + ends_nowhere(i % 2);
  printf("%d\n", sum);
}
END
cat >b.c <<'END'
__attribute__((noinline)) static int f(int x) { return x * 7 % 5; }
int b(int x) { return f(x + 1) + f(x); }
END
cat >c.c <<'END'
static const int dup[] = {3, 4};
const int *volatile numbers = dup;
__attribute__((noinline)) static int f(int x) { return x % 3 == 0 ? x : x + numbers[x & 1]; }
int c(int x) { return f(x) + f(x + 1); }
END
cat >d.c <<'END'
__attribute__((noinline)) static int dup(int x) { return x % 3 == 0 ? x : x + 1; }
__attribute__((constructor)) void d(void) { for (volatile int i = 0; i < 9; ++i) i += dup(i) & 1; }
END
gcc -O2 -ffunction-sections -fno-ipa-icf -c a.c b.c c.c d.c && objcopy --redefine-sym odd="odd name" a.o &&
  gcc -fuse-ld=lld -Wl,--icf=all,--emit-relocs -o names a.o b.o c.o d.o || fail "gcc names"
./names >expected
run prof run --bolt names.counts ./names
[ "$status" = 0 ] || fail "names: $status $(cat stderr)"
optimized names names.counts
"$bolt" names -instrument -instrumentation-file="$PWD/names.theirs" -o instrumented >bolt.log 2>&1 && ./instrumented >stdout || fail "names by BOLT"
calls_of() { awk '$6 == "0" && $5 != $2 && $2 ~ /^(main|b|c|d)$/ { print $2, $5, $8 }' "$1" | grep -v '@PLT' | sort -u; }
diff <(sed 's/odd\\ name/odd/' names.theirs | calls_of /dev/stdin) <(sed 's/odd\\ name/odd/' names.counts | calls_of /dev/stdin) >differences ||
  fail "names: $(head -n 8 differences)"
[ "$(calls_of names.counts | grep -c '/3 ')" = 1 ] && calls_of names.counts | grep -q 'd dup/2 ' || fail "names: $(calls_of names.counts)"
grep -q '^1 ends_nowhere 2 1 b 0 0 500$' names.counts || fail "ends_nowhere: $(grep ends_nowhere names.counts)"
cp -p names stripped && strip stripped
run prof run --bolt none ./stripped
[ ! -e none ] && grep -q '^prof: stripped: is stripped; BOLT finds functions by their symbols' stderr || fail "stripped: $status $(cat stderr)"

# A library, whose functions have versions; and two files at once, which BOLT cannot take.
cat >library.c <<'END'
__attribute__((noinline)) int second(int x) { return x % 7 == 0 ? x / 7 : x + 2; }
__asm__(".symver second, of_two@@V2");
END
echo 'V2 { global: of_two; local: *; };' >library.map
gcc -O2 -shared -fPIC -Wl,--version-script=library.map,--emit-relocs -o libversions.so library.c || fail "gcc -shared"
echo 'int of_two(int); int main(void) { int s = 0; for (int i = 0; i < 700; ++i) s += of_two(i); return s & 1; }' >user.c
gcc -O2 -Wl,--emit-relocs -o user user.c -L. -lversions -Wl,-rpath,. || fail "gcc user"
run prof run --libs --module libversions.so --bolt library.counts ./user
grep -qE '^0 \[unknown\] 0 1 of_two@@V2 0 0 700$' library.counts || fail "library: $(cat stderr library.counts)"
"$bolt" libversions.so -data library.counts -o faster.so >bolt.log 2>&1 && grep -q 'INFO: 1 out of' bolt.log || fail "library: $(grep 'out of' bolt.log)"
run prof run --libs --module 'libversions*' --module user --bolt none ./user
[ ! -e none ] && grep -q 'counts are of user and libversions.so, but BOLT works on one file; name one with --module' stderr || fail "two files: $(cat stderr)"

# Several profiles are added up; a copy without its original has nothing that BOLT could work on; nor is there an older file lost.
for folder in first second; do
  PROFDIR=$folder prof run ./program >stdout 2>stderr || fail "prof run: $(cat stderr)"
done
run prof --bolt twice first/prof.* second/prof.*
[ "$status" = 0 ] && [ ! -s stdout ] || fail "two profiles: $status $(cat stderr)"
awk '{ $8 *= 2; print }' counts | diff - twice >differences || fail "two profiles: $(head -n 4 differences)"
profld -b -o copy program && PROFDIR=hooks ./copy >stdout && mv program elsewhere || fail "with hooks"
run prof --bolt kept copy hooks/prof.*
[ "$status" = 1 ] && [ ! -e kept ] && grep -q 'as it was before profld is not there' stderr || fail "no original: $status $(cat stderr)"
mv elsewhere program
run prof --bolt with_hooks program hooks/prof.*
[ "$status" = 0 ] || fail "with hooks: $(cat stderr)"
# Hooks see calls through pointers, too.
grep -q '^1 main [0-9a-f]* 1 choose 0 0 5$' with_hooks && ! grep -q 'unknown.* choose 0 ' with_hooks || fail "with hooks: $(grep 'choose 0 ' with_hooks)"

compiled plain
run prof run --bolt plain.counts ./plain
[ "$status" = 0 ] && grep -q '^prof: plain: is not linked with --emit-relocs' stderr && [ -s plain.counts ] || fail "no relocations: $status $(cat stderr)"
profld -o plain.prof plain && PROFDIR=unblocked ./plain.prof >stdout || fail "profld plain"
run prof --bolt none unblocked/prof.*
[ "$status" = 1 ] && grep -q 'blocks were not counted; use prof run or profld -b' stderr && [ ! -e none ] || fail "no counts: $status $(cat stderr)"
