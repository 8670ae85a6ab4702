# A signal after each of the instructions on the runtime's most delicate ways: its handler's calls are recorded in their
# contexts, and times stay in balance, whether the handler returns, jumps away, or changes to a coroutine.
. "$(dirname "$0")/../libprof/common.inc"

hooked interrupted
# at FUNCTION FROM TO [fibers|deep|wide|swap|jump|leave]: signals so many instructions behind a function's entry.
at() {
  local entry steps what="${4:-}" lossy=0
  entry=$(nm "$BUILD/lib/libprof.so" | awk -v name="$1" '$3 == name { print $1; found = 1 } END { exit !found }' ||
    nm "$BUILD/lib/libprof.so" | awk -v name="$1" 'index($3, name) { print $1 }')
  [ "$(wc -w <<<"$entry")" = 1 ] || fail "$1 is not one function of libprof.so"
  for ((steps = $2; steps <= $3; ++steps)); do
    # shellcheck disable=SC2086 # none or one
    record interrupted "$entry" "$steps" $what
    [ "$(sed -n 's/^signals //p' stdout)" -gt 3 ] || fail "$1 $what: too few signals came after $steps instructions"
    case $what in
      jump | leave)
        calls_but_for_jumps "$1 $what, after $steps instructions"
        grep -qx 'missing cycles 0' profile || lossy=$((lossy + 1))
        ;;
      *)
        same_calls "$1 $what, after $steps instructions"
        grep -qx 'missing cycles 0' profile || fail "$1 $what, after $steps instructions: $(grep missing profile)"
        ;;
    esac
    awk -v may_fold="${PROFSIZE:-}" '/^pid/ && ($10 != 0 || $12 != 0 && !may_fold) || /^too many cycles/ && $NF != 0 || /^implausible/ && $NF != 0 {
      print; exit 1 }' profile >wrong || fail "$1 $what, after $steps instructions: $(cat wrong)"
  done
  # Who jumps away between the two instructions that give time to a node takes the time since the hook before along.
  [ "$lossy" -le 1 ] || fail "$1 $what: time is missing after signals at $lossy different instructions"
}

# The calls are those that were made, and those that a handler took away when they had just been counted. What the
# handler called is done with, so nothing else is under it.
calls_but_for_jumps() {
  awk -v jumps="$(sed -n 's/^jumps //p' stdout)" -v what="$1" '
    FILENAME == "stdout" { if ($1 == "calls") made[$2] = $3; next }
    /^total/ { found[$4] += $2; if ($2 < made[$4] || $2 > made[$4] + jumps) wrong = $4 " called " made[$4] ", recorded " $2 }
    /^call/ && $5 ~ /handle\/(r|handle)/ { wrong = "context " $5 }
    END {
      for (name in made) if (made[name] > 0 && !(name in found)) wrong = name " not recorded"
      if (jumps < 3) wrong = jumps " jumps only"
      if (wrong != "") { print what ": " wrong; exit 1 }
    }' stdout profile >wrong || fail "$(cat wrong)"
}

# The hooks themselves, with handlers that do not come back to them at once.
at enter_elapsed 1 42 jump
at leave_elapsed 1 33 jump
at enter_elapsed 1 42 leave
at leave_elapsed 1 33 leave
at enter_elapsed_carefully 1 44 swap
at leave_elapsed 1 33 swap
# Where signals are about to be blocked, because there are no nodes left.
at run_heavyEP 12 36
PROFSIZE=1 at run_heavyEP 12 36 wide
# Where the thread is found to be on another stack.
at 9change_toEP 1 60 fibers
# Where a timed call returns, also when its frame is the last of a chunk.
export PROFTYPE=adaptive
at leave_timed 1 8 deep
