# Calls of functions of libraries are recorded at the call: counts, the tree, and what the calls mean to the program.
. "${0%/*}/../common.inc"

# library COMPILER: the library that programs in this folder find.
library() {
  "$1" -w -O2 -shared -fPIC -I"$programs" -o libimported.so "$programs/imported.c" || fail "cannot compile imported.c"
}
# importing OUT FLAGS...: imports.c, linked with it. $CC is the compiler.
importing() {
  local out=$1
  shift
  compile "$out" "$programs/imports.c" "$@" -L. -limported '-Wl,-rpath,$ORIGIN'
}
# Functions that are left alone.
not_recorded() {
  jq -e '[.functions[].name] | index("_setjmp") or index("vfork") or index("__libc_start_main") | not' "$1.json" >/dev/null ||
    fail "$1: records what it must leave alone"
}

# Counts are those that the library counts itself, however the linker lets the program reach it; in programs without
# symbols, too.
for compiler in gcc clang; do
  library $compiler
  for optimization in -O0 -O2; do
    for link in "" "-fno-pie -no-pie" -Wl,-z,now -Wl,-z,lazy "-fcf-protection -Wl,-z,ibtplt" -fno-plt; do
      # clang loads addresses into registers before; nothing tells then which function it calls.
      [ "$compiler $link" != "clang -fno-plt" ] || continue
      program=$compiler$optimization${link// /}
      # These two are used below.
      [ $program = gcc-O2 ] || [ "$program" = gcc-O0-fno-pie-no-pie ] || turn || continue
      # shellcheck disable=SC2086 # lists of words
      CC=$compiler importing "$program" $optimization $link
      rewrite "$program"
      jq -e '.imports > 20 and .import_calls > 40 and .import_calls_left["of a function that returns twice, or that compilers call in their own way"] == 2' \
        "$program.report" >/dev/null || fail "$program: $(jq -c '[.imports, .import_calls, .import_calls_left]' "$program.report")"
      profiled "$program"
      expect_calls "$program" <"$program.stdout"
      not_recorded "$program"
      strip -o "stripped-$program" "$program"
      rewrite "stripped-$program"
      profiled "stripped-$program"
      grep -vE '^calls (main|at_exit|last|after|sort|compare|jumps|thread|processes|kept|tail|tail_if|called_back|handed|arguments_and_results) ' \
        "stripped-$program.stdout" >wanted
      expect_calls "stripped-$program" <wanted
      not_recorded "stripped-$program"
    done
  done
done

# Other linkers' stubs: lld's for processors that must not guess, and mold's.
library gcc
for link in gold "lld -Wl,-z,now" "lld -Wl,-z,retpolineplt" "lld -Wl,-z,retpolineplt -Wl,-z,now" "lld -Wl,-z,retpolineplt -fno-pie -no-pie" \
  mold "mold -Wl,-z,now" "mold -fno-pie -no-pie" "mold -fno-pie -no-pie -Wl,-z,now"; do
  turn || continue
  program=${link// /}
  # shellcheck disable=SC2086 # lists of words
  importing "$program" -O2 -fuse-ld=$link
  rewrite "$program"
  jq -e '.imports > 20 and .import_calls > 40' "$program.report" >/dev/null || fail "$program: $(jq -c '[.imports, .import_calls]' "$program.report")"
  profiled "$program"
  expect_calls "$program" <"$program.stdout"
  not_recorded "$program"
done

# A program without section headers, where the linker's stubs look like functions. (One that jumps to a stub stays, as the
# stubs do.)
program=gcc-O0-fno-pie-no-pie
profiled $program
grep -E '^calls (plain|many|mixed|each|print_imported) ' $program.stdout >wanted
cp $program bare
printf '\0\0\0\0\0\0\0\0' | dd of=bare bs=1 seek=40 conv=notrunc status=none # e_shoff
printf '\0\0\0\0' | dd of=bare bs=1 seek=60 conv=notrunc status=none             # e_shnum, e_shstrndx
rewrite bare
profiled bare
expect_calls bare <wanted

# In all kinds of measurement, and where functions are bound as they are called and before.
program=gcc-O2
for type in $types; do
  PROFTYPE=$type profiled $program
  expect_calls $program <$program.stdout
  LD_BIND_NOW=1 PROFTYPE=$type profiled $program
  expect_calls $program <$program.stdout
done

# paths PROGRAM NAME...: a line "CALLS PATH" for each context of these functions, with all that is on the path.
paths() {
  local program=$1
  shift
  jq -r --args '.functions as $f | .tree as $t |
    def name($i): $f[$t[$i].function].name | sub("\\(.*"; "");
    def path($i): if $i < 0 then [] else path($t[$i].parent) + [name($i)] end;
    range($t | length) | select(name(.) | IN($ARGS.positional[])) | "\($t[.].calls) \(path(.) | join(" "))"' "$@" <"$program.json" | sort -k2
}
# same_paths PROGRAM NAME...: they are those on standard input.
same_paths() {
  paths "$@" >found
  diff <(sort -k2) found >difference || fail "$1: $(grep '^[<>]' difference | head -n 6)"
}

# Callbacks stand under the function that calls back, and nothing does that was called when that had been left: hand_over
# has when it jumps to handed.
library gcc
importing tree -O2 -fno-optimize-sibling-calls
rewrite tree
for type in $types; do
  PROFTYPE=$type profiled tree
  flatten tree
  same_paths tree after called_back compare each end_process exit give_up longjmp plain print_imported qsort sort <<'END'
1 main after
3 main arguments_and_results plain
2 main each
4 main each called_back
1 main each called_back each
1 main each called_back each called_back
1 main each last end_process
1 main each last end_process at_exit print_imported
18 main kept plain
1 main handed plain
1 main jumps give_up
3 main jumps after
1 main jumps sort
1 main jumps sort qsort
4 main jumps sort qsort compare
1 main jumps sort qsort compare longjmp
1 main processes plain
1 main sort
1 main sort qsort
14 main sort qsort compare
1 main tail plain
1 thread plain
END
done

for compiler in gcc clang; do
  CC=$compiler compile exceptions "$programs/imports_exceptions.cc" -O2 -fno-optimize-sibling-calls
  rewrite exceptions
  for type in $types; do
    PROFTYPE=$type profiled exceptions
    expect_calls exceptions <exceptions.stdout
    same_paths exceptions after catches Cleaned::~Cleaned compare compare_and_throw_again library qsort rethrows sorts throws <<'END'
10 main catches
15 main catches after
10 main catches sorts
10 main catches sorts Cleaned::~Cleaned
10 main catches sorts Cleaned::~Cleaned after
10 main catches sorts qsort
85 main catches sorts qsort compare
3 main library
2 main library after
3 main library Cleaned::~Cleaned
3 main library Cleaned::~Cleaned after
1 main rethrows
1 main rethrows after
1 main rethrows qsort
1 main rethrows qsort compare_and_throw_again after
2 main rethrows qsort compare_and_throw_again
2 main rethrows qsort compare_and_throw_again compare
2 main throws
1 main throws after
2 main throws Cleaned::~Cleaned
2 main throws Cleaned::~Cleaned after
END
  done
done

# Time is the imported function's.
cat >sleeps.c <<'END'
#include <unistd.h>
int main(void) { return usleep(300000); }
END
compile sleeps sleeps.c -O2 -fno-optimize-sibling-calls
rewrite sleeps
PROFTYPE=elapsed profiled sleeps
flatten sleeps
jq -e '.tsc_hz as $hz | .functions[] | select(.name == "usleep") | .imported and .self_cycles > 0.29 * $hz' sleeps.json >/dev/null ||
  fail "the time of an imported function is not its own"
jq -e '[.functions[] | select(.imported | not) | .name] == ["main"]' sleeps.json >/dev/null || fail "main is not a function of the program"

# gprof cannot name them: they are a part of what calls them, and what they call back is called by that.
run prof -g gmon.out tree.prof tree.profiles/prof.*
gprof -b tree gmon.out >gprof.out 2>&1 || fail "gprof: $(head -n 3 gprof.out)"
! grep -q _init gprof.out || fail "gprof gives imported functions to _init"
awk '/^\[[0-9]+\]/ && $NF ~ /^\[/ { name = $(NF - 1) } /compare/ && name == "sort" { found = 1 } END { exit !found }' gprof.out ||
  fail "gprof does not show that sort has compare called"

# Options choose among them by name, as among functions; a static program has none.
rewrite tree --no-imports
jq -e '.imports == 0 and .import_calls == 0' tree.report >/dev/null || fail "--no-imports: $(cat tree.report)"
profiled tree
flatten tree
jq -e 'all(.functions[]; .imported | not)' tree.json >/dev/null || fail "--no-imports records imports"
rewrite tree -N 'p*' -N qsort
profiled tree
flatten tree
jq -e '[.functions[] | select(.imported) | .name] | index("mixed") and (index("plain") or index("printf") or index("qsort") | not)' tree.json >/dev/null ||
  fail "-N: $(jq -c '[.functions[].name]' tree.json)"
rewrite tree -F sort -F qsort
profiled tree
flatten tree
[ "$(jq -r '.functions[].name' tree.json | sort | paste -sd ' ')" = "qsort sort" ] || fail "-F: $(jq -c '[.functions[].name]' tree.json)"
gcc -w -O2 -static -I"$programs" -pthread -o static "$programs/imports.c" "$programs/imported.c" -lm || fail "cannot compile a static program"
rewrite static
mv static.prof with
rewrite static --no-imports
cmp -s static.prof with || fail "--no-imports changes a static program"

# The same by prof run.
run prof run -d --no-imports ./sleeps
grep -q '^main' stderr || fail "prof run: $(head -n 3 stderr)"
! grep -q usleep stderr || fail "prof run --no-imports shows an imported function"
run prof run --type time -d ./sleeps
grep -q usleep stderr || fail "prof run does not show an imported function"
