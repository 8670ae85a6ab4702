# gdb stops at SystemTap's probes in a copy, finds their arguments and sets their semaphores, as in the original.
. "${0%/*}/../common.inc"

# breakpoint NAME FORMAT ARGUMENT...: gdb's commands to print these at each stop at the probe, and to go on.
breakpoint() {
  printf 'break -probe-stap app:%s\ncommands\nsilent\n' "$1"
  printf 'printf "%s %s\\n"' "$1" "$2"
  shift 2
  printf ', %s' "$@"
  printf '\ncontinue\nend\n'
}
{
  breakpoint entry %d '$_probe_arg0'
  breakpoint leave %d '$_probe_arg0'
  breakpoint sum '%d %d %d' '$_probe_arg0' '$_probe_arg1' '$_probe_arg2'
  breakpoint rare %d '$_probe_arg0'
  echo run
} >script

# probed PROGRAM: what its probes and the program itself say, under gdb.
probed() {
  DEBUGINFOD_URLS='' PROFDIR=$PWD timeout $forever gdb -nx -q -batch -x script "./$1" 2>gdb.log </dev/null |
    grep -vE '^(Breakpoint|\[|Using host|warning)'
}

for link in $links; do
  for compiler in gcc clang; do
    turn || continue
    # shellcheck disable=SC2046 # lists of words
    CC=$compiler compile program "$programs/probes.c" -O2 $(link_flags "$link")
    strip -o stripped program
    probed program >expected
    for line in 'entry 2' 'leave 7' 'sum 5 1 7' 'rare 22' 'calls main 1'; do
      grep -qx "$line" expected || fail "$compiler $link: gdb does not say \"$line\": $(head -n 3 expected gdb.log)"
    done
    for program in program stripped; do
      rewrite $program
      probed $program.prof >found
      cmp -s expected found || fail "$compiler $link $program: $(diff expected found | head -n 8)"
    done
    jq -e 'any(.skipped[]; .name == "odd" and (.reason | startswith("a probe lies between two of its instructions at 0x"))) and
      all(.skipped[]; .name != "inside" and .name != "at_entry")' program.report >/dev/null ||
      fail "$compiler $link: $(jq -c .skipped program.report)"
    profiled program
    expect_calls program <program.stdout
  done
done

# In a static C++ program gdb finds throw, catch and rethrow by the probes of libstdc++.
cat >throw.cc <<'C'
int main() {
  try {
    throw 1;
  } catch (int) {
  }
}
C
compile throw throw.cc -O1 -static
strip -o stripped throw
for program in throw stripped; do
  rewrite $program
  for copy in $program $program.prof; do
    DEBUGINFOD_URLS='' PROFDIR=$PWD gdb -nx -q -batch -ex 'catch throw' -ex 'catch catch' -ex run -ex continue -ex continue ./$copy \
      >gdb.log 2>&1 </dev/null
    grep -q '1 (exception thrown)' gdb.log && grep -q '2 (exception caught)' gdb.log && grep -q 'exited normally' gdb.log ||
      fail "catch throw in $copy: $(tail -n 4 gdb.log)"
  done
done
