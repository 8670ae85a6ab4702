# At every single instruction of copies and of hooks, an unwinder that knows nothing but the unwind tables (elfutils' libdw, as in perf and
# eu-stack) finds all callers, with the stack pointers and registers that they will have when control is back.
. "${0%/*}/common.inc"

made every_instruction g++ -std=c++20 -O1 -o every_instruction "$tests/unwind/every_instruction.cc" -ldw 2>compile.log || fail "$(head -n 3 compile.log)"

n=0
check() {
  local program=$((++n)) instructions
  compile "$program" "$programs/stepped.c" "$@"
  rewrite "$program"
  PROFDIR=$PWD run ./every_instruction "./$program.prof"
  [ "$status" = 0 ] || fail "$*: $(head -n 6 stdout) $(head -n 2 stderr)"
  instructions=$(tail -n 1 stdout)
  [ "$instructions" -gt 10000 ] || fail "$*: only $instructions instructions"
}
for link in $links; do
  # shellcheck disable=SC2046 # lists of words
  check -O2 $(link_flags "$link")
done
check -O0
check -O2 -fno-omit-frame-pointer -fcf-protection=full
check -Os -falign-functions=1
CC=clang check -O2
CC=clang check -O0 -static
PROFTYPE=count check -O2
