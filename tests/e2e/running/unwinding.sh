# At every single instruction of copies and of hooks, an unwinder that knows nothing but the unwind tables (elfutils' libdw, as in perf and
# eu-stack) finds all callers, with the stack pointers and registers that they will have when control is back.
. "${0%/*}/../common.inc"

. "$tests/unwind/every_instruction.inc"

for link in $links; do
  turn || continue
  # shellcheck disable=SC2046 # lists of words
  check -O2 $(link_flags "$link")
done
PROFTYPE=count check -O2
# Hooks leave meanwhile, or stay.
rewrite_with=--latency
for budget in 0 100; do
  least=1000 PROFBUDGET=$budget check -O2
done
