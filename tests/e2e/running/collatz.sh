# The numbers that the project is measured by: 62135400 calls of step, in all four link types.
. "${0%/*}/../common.inc"

for compiler in gcc clang; do
  for link in $links; do
    # Once is enough for clang: this takes a while.
    [ "$compiler-$link" = clang-pie ] || [ "$compiler" = gcc ] || continue
    turn || continue
    program=$compiler-$link
    # shellcheck disable=SC2046
    CC=$compiler compile "$program" "$programs/collatz.c" -O2 -fno-inline $(link_flags "$link")
    rewrite "$program"
    profiled "$program"
    expect_calls "$program" <<'CALLS'
calls step 62135400
calls nseq 499999
calls main 1
CALLS
  done
done
