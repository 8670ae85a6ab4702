# C++ exceptions are thrown, caught and rethrown through copies.
. "${0%/*}/../common.inc"

# A static C++ program is large: not every combination.
compilers=gcc matrix exceptions.cc -fno-optimize-sibling-calls
compilers=clang links="pie static" matrix exceptions.cc -fno-optimize-sibling-calls

# Through functions that stay where they are, and out of them.
for link in pie static; do
  # shellcheck disable=SC2046 # lists of words
  compile program "$programs/exceptions.cc" -O2 -fno-optimize-sibling-calls $(link_flags $link)
  for left_out in 'nest(int, int)' 'thrower(int)' 'main' '*in*'; do
    rewrite program -N "$left_out"
    profiled program
    flatten program
    # shellcheck disable=SC2053 # a pattern
    while read -r line; do function=${line#calls }; [[ ${function% *} == $left_out ]] || echo "$line"; done <program.stdout >wanted
    expect_calls program <wanted
  done
done
