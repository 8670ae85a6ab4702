# Jump tables without a bound, where other data follows, in a segment of its own or in that of the code.
. "${0%/*}/../common.inc"

for compiler in gcc clang; do
  for link in "-fPIE -pie" "-fno-pie -no-pie"; do
    for layout in -Wl,-z,separate-code -Wl,-z,noseparate-code -fuse-ld=gold; do
      # shellcheck disable=SC2086 # a list of words
      CC=$compiler compile program "$programs/unreachable.c" -O2 $link $layout
      rewrite program
      profiled program
      expect_calls program <program.stdout
    done
  done
done
