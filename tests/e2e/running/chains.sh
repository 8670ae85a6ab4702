# At every single instruction of copies that count their blocks and have no hooks, prof's own unwinder finds all callers from
# the registers and a copy of the top of the stack, as samples have them: in prologues and epilogues, counters, stubs, thunks.
. "${0%/*}/../common.inc"

by_prof=yes least=1000
. "$tests/unwind/every_instruction.inc"

rewrite_with="--blocks --no-hooks"
for compiler in gcc clang; do
  for level in -O0 -O2; do
    CC=$compiler check "$level"
  done
done
for link in $links; do
  turn || continue
  # shellcheck disable=SC2046 # lists of words
  check -O2 $(link_flags "$link")
done
# Copies with hooks, too, also with such that leave.
rewrite_with=
check -O2
rewrite_with=--latency
for budget in 0 100; do
  PROFBUDGET=$budget check -O2
done
