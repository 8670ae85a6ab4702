# Flags that change what functions look like.
. "${0%/*}/../common.inc"

check() {
  turn || return 0
  local source=$1 program
  shift
  program=$((++n))
  compile "$program" "$programs/$source" "$@"
  rewrite "$program"
  profiled "$program"
  expect_calls "$program" <"$program.stdout"
}
n=0
for source in switch.c tail_calls.c cold.c values.c exceptions.cc; do
  check $source -O3
  check $source -Os
  check $source -O2 -fcf-protection=full
  check $source -O2 -fcf-protection=none
  check $source -O2 -fno-omit-frame-pointer -fstack-protector-all
  check $source -O2 -fno-plt -Wl,-z,lazy
  check $source -O2 -ffunction-sections -Wl,--gc-sections
  check $source -O2 -flto
  check $source -O2 -falign-functions=64 -falign-loops=32
  check $source -Os -falign-functions=1
  check $source -O1 -fno-pie -no-pie -fno-jump-tables
  check $source -O2 -march=native
  check $source -O2 -fstack-clash-protection -D_FORTIFY_SOURCE=2
  check $source -O2 -fno-pie -no-pie -mcmodel=medium
done
# Without unwind tables, functions are found by their symbols.
check switch.c -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables
check recursion.c -O2 -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -fno-unwind-tables -static
# Code finds the global offset table by its distance from a place in the code, and functions by theirs from that table.
for source in values.c products.c exceptions.cc "recursion.c -fno-optimize-sibling-calls"; do
  # shellcheck disable=SC2086 # a list of words
  for options in "-O2 -fPIE -pie" "-O2 -fPIE -pie -fcf-protection" "-O1 -fPIE -no-pie" "-O0 -fPIE -pie"; do check $source -mcmodel=large $options; done
done
