# clone(2) with shared and with copied memory: the child's calls are counted where its memory is.
. "${0%/*}/../common.inc"

for link in $links; do
  for optimization in -O0 -O2; do
    turn || continue
    # shellcheck disable=SC2046 # lists of words
    compile program "$programs/clones.c" $optimization $(link_flags "$link")
    rewrite program
    profiled program
    # The program's own counters are those of its memory. Children with a copy of it have profiles of their own: 5 times child and work each, and 5
    # times work.
    awk '/^calls child /{ $3 += 5 } /^calls work /{ $3 += 10 } /^calls / { print }' program.stdout >wanted
    expect_calls program <wanted
  done
done
