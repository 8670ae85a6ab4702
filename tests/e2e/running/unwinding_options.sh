# As unwinding.sh, of programs that were compiled in other ways.
. "${0%/*}/../common.inc"
. "$tests/unwind/every_instruction.inc"

check -O0
check -O2 -fno-omit-frame-pointer -fcf-protection=full
check -Os -falign-functions=1
CC=clang check -O2
CC=clang check -O0 -static
