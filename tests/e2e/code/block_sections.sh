# clang can give every basic block a section, a symbol and an unwind entry of its own: none of them is a function, stripped or not.
. "${0%/*}/../common.inc"

for source in red_zone.c cold.c switch.c tail_calls.c; do
  for link in pie no-pie static; do
    # shellcheck disable=SC2046 # lists of words
    CC=clang compile program "$programs/$source" -O2 -fbasic-block-sections=all $(link_flags $link)
    rewrite program
    profiled program
    expect_calls program <program.stdout
    strip -o stripped program
    rewrite stripped
    profiled stripped
    [ $source != red_zone.c ] || expect_calls_by_address stripped program
  done
done
