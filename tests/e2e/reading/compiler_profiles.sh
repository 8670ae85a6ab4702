# prof --llvm-profile and --gcc-profile: counts of blocks, by the places in the source that clang and gcc look for; exact, and the
# compilers take them.
. "${0%/*}/../common.inc"

for_clang="-g -fdebug-info-for-profiling"
# compile_by COMPILER OUT OPTION...: of steps.cc.
compile_by() {
  "$1" -O1 -o "$2" "$programs/steps.cc" "${@:3}" 2>compile.log || fail "$1 ${*:3}: $(head -n 3 compile.log)"
}
# profiled PROGRAM [ARG...]: a run with counters of blocks, whose profile is PROGRAM.profile.
profiled() {
  profld -b --no-hooks -o "$1.prof" "$1" || fail "profld $1"
  rm -f prof.[0-9]*
  "./$1.prof" "${@:2}" || fail "$1.prof: status $?"
  mv prof.[0-9]* "$1.profile"
}
# exported FILE [ARG...]: prof --llvm-profile FILE ARG..., or --gcc-profile by FILE's name; it says no more than how few samples
# there are.
exported() {
  run prof "--${1##*.}-profile" "$@"
  [ "$status" = 0 ] && [ ! -s stdout ] && ! grep -qv ' samples, one every ' stderr || fail "prof for $*: status $status, $(cat stdout stderr)"
}
same() { diff "$1" "$2" >diff.out || fail "$3: $(cat diff.out)"; }

# shellcheck disable=SC2086 # a list of options
compile_by clang++ steps $for_clang
profiled steps
exported steps.llvm steps.profile
cat >expected <<'END'
_ZL4stepi:5602:2001
 1: 2001
 2: 401
 4: 1600
 5: 1600
_Z2goiPFviE:3003:1
 0: 1
 1.1: 1000
 2: 1
 3: 1
 1.3: _ZNK5TwiceclEi:2000
  1: 1000 _ZL4stepi:1000
  2: 1000 _ZL4stepi:1000
main:4:1
 0: 1
 1: 1 _Z2goiPFviE:1
 2: 1
 2.1: 0
 3: 1
END
same expected steps.llvm "steps"
llvm-profdata merge --sample --text -o merged steps.llvm || fail "llvm-profdata cannot read it"
same merged steps.llvm "llvm-profdata"
# Each count is that of a block.
prof --json steps.profile | jq '.blocks[].count' | sort -u >counts
sed -n 's/^ .*[0-9]: \([0-9]*\)\( .*\)*$/\1/p' steps.llvm | sort -u | comm -23 - counts >others
[ ! -s others ] && [ -s counts ] || fail "counts of no block: $(cat others)"

# What clang makes of it: calls of a function and ways at a branch, to each of which it adds one.
compile_by clang++ steps.ll -fprofile-sample-use=steps.llvm -S -emit-llvm
grep -q '^!.*"function_entry_count", i64 2002}' steps.ll || fail "clang: no calls of step"
grep -qE '^!.*"branch_weights", i32 (401|402|1601|1602), i32 (401|402|1601|1602)}' steps.ll || fail "clang: no branch in step: $(grep branch_weights steps.ll)"

# As prof-pgo(1) has it for make: the program is built again with what the run counted.
mkdir project && cp "$programs/steps.cc" project/main.c && sed -i 's/#include.*//; s/^struct Twice {//; s/^};//; s/void operator()(int x) const/static void twice(int x)/; s/Twice()(i)/twice(i)/' project/main.c
awk '/^\.Ss make/ { inside = 1; next } /^\.Ed/ { inside = 0 } inside && !/^\.Bd/' "$tests/../man/prof-pgo.1" >project/Makefile
(cd project && XDG_CACHE_HOME=$PWD/cache make -s train && ./program) >make.log 2>&1 || fail "make train: $(cat make.log)"
grep -q '^step:.*:3002$' project/program.counts || fail "make train: $(cat project/program.counts)"

# Several profiles are added up, apart or not.
profld -b --no-hooks -o steps.prof steps && ./steps.prof && mv prof.[0-9]* second.profile || fail "steps.prof"
exported twice.llvm steps.profile second.profile
grep -q '^_ZL4stepi:.*:4002$' twice.llvm || fail "twice: $(cat twice.llvm)"
exported apart.llvm --processes steps.profile second.profile
same twice.llvm apart.llvm "apart"

# Names are in a debug file.
objcopy --only-keep-debug steps steps.debug && strip -o stripped steps && objcopy --add-gnu-debuglink=steps.debug stripped || fail "strip"
profiled stripped
exported stripped.llvm stripped.profile
same steps.llvm stripped.llvm "stripped"

# gcc tells no names for linkers of static functions, and has discriminators of its own.
compile_by g++ by_gcc -g
profiled by_gcc
exported by_gcc.llvm by_gcc.profile
grep -q '^_ZL4stepi:.*:2001$' by_gcc.llvm && ! grep -qE '^ +[0-9]+\.' by_gcc.llvm || fail "gcc: $(cat by_gcc.llvm)"
compile_by clang++ of_gcc.ll -fprofile-sample-use=by_gcc.llvm -S -emit-llvm
grep -q '^!.*"function_entry_count", i64 2002}' of_gcc.ll || fail "clang does not take what gcc compiled"

# With gcc, what it says of blocks after optimization: all calls of step, and where they went.
exported by_gcc.gcc by_gcc.profile
compile_by g++ of_gcc.s -g -fauto-profile=by_gcc.gcc -S -fdump-tree-optimized-all-graph=optimized
for count in 2001 401 1600; do
  grep -qE "basic block [0-9]+, .* count $count \(auto FDO\)" optimized || fail "gcc: no block with $count: $(grep 'basic block' optimized)"
done

# Functions of one name in two files are added up; what has no name for linkers has that in the source for gcc.
cat >one.cc <<'END'
extern int volatile sum;
namespace {
__attribute__((noinline)) void work(int n) { sum = n; }
inline void within(int n) { if (n & 1) sum = sum + n; }
}
void NAME() { for (int i = 0; i < TIMES; ++i) work(i), within(i); }
END
echo 'int volatile sum; void one(), two(); int main() { one(); two(); }' >both.cc
g++ -O1 -g -DNAME=one -DTIMES=30 -c -o one.o one.cc && g++ -O1 -g -DNAME=two -DTIMES=12 -c -o two.o one.cc && g++ -g -o both both.cc one.o two.o || fail "cannot compile both"
profiled both
run prof --llvm-profile both.llvm both.profile
grep -qE '^prof: both: [0-9]+ % of what ran is left out: the debug information has no source line or no symbol name for it$' stderr || fail "both: $(cat stderr)"
grep -q '^_ZN12_GLOBAL__N_14workEi:.*:42$' both.llvm || fail "both: $(cat both.llvm)"
exported both.gcc both.profile
grep -aq within both.gcc && ! grep -q within both.llvm || fail "both: no inlined function for gcc"

# Of libraries only what is named.
# shellcheck disable=SC2086 # a list of options
compile_by clang++ libsteps.so $for_clang -Dmain=begin -shared -fPIC
echo 'int begin(int, char**); int main(int argc, char** argv) { return begin(argc, argv); }' >user.cc
clang++ -g -o user user.cc libsteps.so '-Wl,-rpath,$ORIGIN' || fail "cannot compile user"
profld -b --no-hooks -o copy.so libsteps.so && mv copy.so libsteps.so || fail "profld libsteps.so"
profiled user
exported user.llvm user.profile
[ "$(grep -c '^[^ ]' user.llvm)" = 1 ] && grep -q '^main:' user.llvm || fail "user: $(cat user.llvm)"
exported library.llvm --module libsteps.so user.profile
[ "$(grep '^[^ ]' library.llvm | cut -d : -f 1 | sort | paste -sd ' ')" = "_Z2goiPFviE _Z5beginiPPc _ZL4stepi" ] || fail "library: $(cat library.llvm)"

# What is not in it, or may not be true any more, it says.
(cat "$programs/steps.cc"; echo) >new.cc
clang++ -O1 -g -c -o new.o new.cc && clang++ -o new new.o && touch -d '1 hour' new.cc || fail "cannot compile new.cc"
profiled new
run prof --llvm-profile new.llvm new.profile
grep -q '^prof: .*new.cc: the source is newer than the program' stderr && [ -s new.llvm ] || fail "newer source: $(cat stderr)"
sed 's/int main/int go_on/; s/argc > 1/argc > 2/' "$programs/steps.cc" | clang++ -O1 -c -x c++ -o half.o - && clang++ -O1 -g -c -x c++ -o other.o - <<'END' && clang++ -o half half.o other.o || fail "cannot compile half"
int go_on(int, char **);
int main(int argc, char **argv) { return go_on(argc, argv); }
END
profiled half
run prof --llvm-profile half.llvm half.profile
grep -qE '^prof: half: (9[0-9]|100) % of what ran is left out: the debug information has no source line ' stderr || fail "half: $(cat stderr)"

# What it cannot be made of, it says, and leaves no file.
refused() {
  run prof --gcc-profile left "${@:2}"
  [ "$status" != 0 ] && [ "$(grep -cvE ': hooks took [0-9]+ % of the time, | samples, one every | prof --inlined lists ' stderr)" = 1 ] && grep -q "^prof: .*$1" stderr && [ ! -e left ] || fail "${*:2}: $status $(cat stderr)"
}
compile_by clang++ bare
profiled bare
refused 'there is no debug information; compile with -g' bare.profile
compile_by clang++ lines -gline-tables-only
profiled lines
refused 'lines: its debug information does not say where functions begin in the source; compile with -g or -fdebug-info-for-profiling' lines.profile
echo 'of an earlier run' >kept
run prof --llvm-profile kept lines.profile
[ "$status" = 1 ] && [ "$(cat kept)" = 'of an earlier run' ] || fail "an older file is gone"
rewrite steps
./steps.prof && mv prof.[0-9]* hooks.profile
refused 'blocks were not counted; use prof run or profld -b' hooks.profile
refused 'exports are of all functions' --function step steps.profile
refused 'blocks are counted in all contexts' --focus step steps.profile
refused 'blocks are counted of all threads together' -t steps.profile

# prof run counts blocks for it, with hooks as well.
run prof run --type time --llvm-profile hooks.llvm ./steps
[ "$status" = 0 ] && grep -q '^_ZL4stepi:5602:2001$' hooks.llvm || fail "with hooks: $status $(cat stderr)"
