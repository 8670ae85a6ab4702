# A signal after each of the instructions on the runtime's most delicate ways: its handler's calls are recorded in their
# contexts, and times stay in balance.
. "$(dirname "$0")/../libprof/common.inc"

hooked interrupted
# at FUNCTION FROM TO [fibers|deep]: signals so many instructions behind a function's entry.
at() {
  local entry steps
  entry=$(nm "$BUILD/lib/libprof.so" | awk -v name="$1" 'index($3, name) { print $1 }')
  [ "$(wc -w <<<"$entry")" = 1 ] || fail "$1 is not one function of libprof.so"
  for ((steps = $2; steps <= $3; ++steps)); do
    # shellcheck disable=SC2086 # none or one
    record interrupted "$entry" "$steps" ${4:-}
    [ "$(sed -n 's/^signals //p' stdout)" -gt 3 ] || fail "$1: too few signals came after $steps instructions"
    same_calls "$1, after $steps instructions"
    awk '/^pid/ && ($10 != 0 || $12 != 0) || /^torn/ && $3 != 0 { print; exit 1 }' profile >wrong ||
      fail "$1, after $steps instructions: $(cat wrong)"
  done
}
# Where signals are about to be blocked, because there are no nodes left.
at run_heavyEP 12 36
# Where the thread is found to be on another stack.
at 9change_toEP 1 60 fibers
# Where a timed call returns, also when its frame is the last of a chunk.
export PROFTYPE=adaptive
at exit_timed 1 8 deep
