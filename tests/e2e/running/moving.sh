# Coroutines that go from thread to thread: counts are exact. Stacks in pieces: such functions stay, and say why.
. "${0%/*}/../common.inc"

compile moving "$programs/moving.cc" -std=c++20 -O2
rewrite moving
calls_vary=1
for type in $types; do
  export PROFTYPE=$type
  for _ in 1 2 3; do
    profiled moving
    expect_calls moving <moving.stdout
  done
done
calls_vary=
for optimization in -O0 -O2; do
  compile split "$programs/split_stack.c" "$optimization" -fsplit-stack
  rewrite split
  profiled split
  for function in leaf deep work main; do
    jq -e --arg f "$function" 'any(.skipped[]; .name == $f and (.reason | startswith("its stack is split")))' split.report >/dev/null ||
      fail "$function: $(jq -c .skipped split.report)"
  done
done
