# Coroutines that go from thread to thread, and stacks in pieces: counts are exact.
. "${0%/*}/common.inc"

compile moving "$programs/moving.cc" -std=c++20 -O2
rewrite moving
calls_vary=1
for type in elapsed count; do
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
  expect_calls split <split.stdout
done
