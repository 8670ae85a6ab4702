# D, by ldc2 and gdc: exceptions of its own run-time system, closures, collection of garbage, threads.
. "${0%/*}/../common.inc"

while read -r options; do
  # shellcheck disable=SC2086 # a list of words
  made jobs $options "$programs/jobs.d" >compile.log 2>&1 || fail "cannot compile: $options $(head -n 3 compile.log)"
  rewrite jobs
  mostly_instrumented jobs
  profiled jobs
  [ "$status" = 4 ] || fail "exit status $status"
  expect_calls jobs <jobs.stdout
  strip jobs
  rewrite jobs
  profiled jobs
done <<'LIST'
ldc2 -O0 --of=jobs
ldc2 -O2 --of=jobs
gdc -O2 -fno-pie -no-pie -static-libphobos -o jobs
LIST
