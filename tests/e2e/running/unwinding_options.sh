# As unwinding.sh, of programs that were compiled in other ways.
. "${0%/*}/../common.inc"
. "$tests/unwind/every_instruction.inc"

for options in "gcc -O0" "gcc -O2 -fno-omit-frame-pointer -fcf-protection=full" "gcc -Os -falign-functions=1" "clang -O2" "clang -O0 -static"; do
  turn || continue
  # shellcheck disable=SC2086 # a list of words
  CC=${options%% *} check ${options#* }
done
