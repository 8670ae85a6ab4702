# An exception that ends the program ends a copy in the same way: same message, same status, same destructors run.
. "${0%/*}/../common.inc"

ulimit -c 0
for link in $links; do
  turn || continue
  # shellcheck disable=SC2046 # lists of words
  compile program "$programs/terminate.cc" -O2 -Wa,--noexecstack $(link_flags "$link")
  rewrite program
  for mode in noexcept caught destructor no_tables nothing uncaught; do
    profiled program $mode
    [ "$status" = $([ $mode = caught ] && echo 3 || echo 134) ] || fail "$mode: status $status"
    expect_calls program <program.stdout
  done
  grep -q 'terminate called' program.stderr || fail "no message"
done
