# Numbers and data of functions that indirect calls check: they stay as they are, and the functions are counted.
. "${0%/*}/../common.inc"

may_skip="nothing neither" # functions of one byte, with no room for a jump

# check: a program, with its symbols and without.
check() {
  local choice
  for choice in "" -b --discover; do
    # shellcheck disable=SC2086 # a word or none
    rewrite program $choice
    profiled program
    expect_calls program <program.stdout
  done
  strip -o stripped program
  for choice in "" --discover; do
    # shellcheck disable=SC2086
    rewrite stripped $choice
    profiled stripped
    sed -i -E "/^calls (${may_skip/ /|}) /d" stripped.stdout
    expect_calls_by_address stripped program
  done
}

for link in $links; do
  for number in 0 "0 -DSYMBOL" 1 "1 -DSYMBOL" 2 3; do
    turn || continue
    # shellcheck disable=SC2046,SC2086 # lists of words
    CC=gcc compile program "$programs/numbers_before.c" -O2 -DNUMBER=$number $(link_flags "$link")
    check
  done
  for optimization in -O0 -O2; do
    turn || continue
    # shellcheck disable=SC2046
    CC=clang compile program.o "$programs/function_types.cc" -c $optimization -fsanitize=function $(link_flags "$link")
    # shellcheck disable=SC2046
    CC=clang++ compile program program.o $(link_flags "$link")
    grep -q ', 2 errors$' <(./program) || fail "$link $optimization: the check does not work in the original"
    check
  done
done

# A library without checks of its own: its functions are checked where they are called.
CC=gcc compile libof.so "$programs/numbers_before.c" -O2 -fPIC -shared -DNUMBER=0 -DSYMBOL -DLIBRARY
CC=gcc compile program "$programs/numbers_before.c" -O2 -DNUMBER=0 -DPROGRAM -L. -lof -Wl,-rpath,"$PWD"
./program >expected || fail "the program with the library"
cp libof.so original.so
for choice in "" -b --discover; do
  cp original.so libof.so
  # shellcheck disable=SC2086
  rewrite libof.so --all $choice
  jq -e 'all(.skipped[]; .name != "plus")' libof.so.report >/dev/null || fail "plus stays: $(jq -c .skipped libof.so.report)"
  mv libof.so.prof libof.so
  PROFDIR=. ./program >actual || fail "the copy of the library, $choice: status $?"
  cmp -s expected actual || fail "the copy of the library, $choice: $(diff expected actual | head -n 4)"
done
