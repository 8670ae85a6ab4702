# The records of profld --trace move the stack pointer. From each instruction of theirs, in full windows too, unwinders find all callers
# and handlers find their frames; a thread that is cancelled there ends as it should.
. "${0%/*}/../common.inc"
. "$tests/unwind/every_instruction.inc"

export PROFTYPE=count
# shellcheck disable=SC2034 # check uses them
for trace in --trace --trace=memory; do
  rewrite_with=$trace step_with=--full-windows
  check -O2 -fcf-protection
done

made interrupt_each g++ -std=c++20 -O1 -o interrupt_each "$tests/unwind/interrupt_each.cc" 2>compile.log || fail "$(head -n 3 compile.log)"
for link in -static -pie; do
  compile interrupted "$programs/interrupted.cc" -O1 $link
  run ./interrupt_each ./interrupted
  [ "$status" = 0 ] || fail "$link: not even without records: status $status, $(cat stdout stderr)"
  for trace in --trace --trace=memory; do
    rewrite interrupted $trace
    run ./interrupt_each ./interrupted.prof
    [ "$status" = 0 ] || fail "$link $trace: status $status, $(cat stdout stderr)"
    # The functions are alike, and so are their records; these have several times as many instructions as the functions.
    [ "$(grep -c . stdout)" = 3 ] && [ "$(sort -n stdout | head -n 1)" -gt 200 ] || fail "$link $trace: $(paste -s stdout) signals"
  done
done

compile cancel "$programs/cancel.cc" -O1 -fno-optimize-sibling-calls
rewrite cancel --trace
run ./cancel
grep -v '^calls' stdout >expected
for _ in 1 2; do
  run ./cancel.prof
  [ "$status" = 0 ] && grep -v '^calls' stdout | cmp -s - expected || fail "cancelled: status $status, $(head -n 1 stdout), not $(cat expected) $(cat stderr)"
done
