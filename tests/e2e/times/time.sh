# PROFTYPE=time, the default: what each function ran and what it waited, each for something else, is what it measured of
# itself; whichever way the runtime sees that a thread was off its processor.
. "${0%/*}/../common.inc"

cp "$programs/waits.c" .
compile waits waits.c -O1
compile waits_static waits.c -O1 -static
compile without "$programs/without_perf_events.c"
rewrite waits
rewrite waits_static

# agrees WHAT PROGRAM COMMAND...: the functions of the copy have times between those that they print; within 5 %, and some
# time.
agrees() {
  local what=$1 program=$2
  shift 2
  rm -rf profiles
  mkdir profiles
  local before
  before=$(stolen)
  PROFDIR=profiles "$@" >printed 2>stderr || fail "$what: status $? $(cat stderr)"
  [ ! -s stderr ] || fail "$what: says $(head -n 2 stderr)"
  # A child has a profile of its own if it calls anything, and it does not end by exit.
  for profile in profiles/prof.*; do
    prof --json "$program.prof" "$profile" >json 2>prof.log || fail "$what: $(cat prof.log)"
    grep -v 'did not end by exit\|waits of less than .* count as time on a processor' prof.log && fail "$what: $(cat prof.log)"
    jq -r 'select(.type == "time" and .complete) | .tsc_hz as $hz | .functions[] |
      "of \(.name) \(.total_cycles / $hz) \(.total_waiting_cycles / $hz)"' json
  done >found
  awk -v what="$what" -v stolen="$(stolen_since "$before")" '
    FILENAME == "found" { cpu[$2] = $3; waited[$2] = $4; next }
    function is_between(a, low, high) { return a > low * 0.95 - 0.004 - stolen && a < high * 1.05 + 0.004 + stolen }
    {
      n++
      if (!is_between(cpu[$1], $2, $3)) { print what ": " $1 " ran " $2 " to " $3 " s, shown " cpu[$1]; exit 1 }
      if (!is_between(waited[$1], $4, $5)) { print what ": " $1 " waited " $4 " to " $5 " s, shown " waited[$1]; exit 1 }
    }
    END { if (n != 8) { print what ": " n " functions"; exit 1 } }' found printed >wrong || fail "$(cat wrong)"
}

agrees "restartable sequences" waits ./waits.prof
agrees "sections of its own" waits ./waits.prof own-sections
agrees "unregistered" waits ./waits.prof unregistered
export GLIBC_TUNABLES=glibc.pthread.rseq=0
case $types in *cpu*) agrees "perf events" waits ./waits.prof ;; esac
agrees "neither" waits ./without ./waits.prof
unset GLIBC_TUNABLES
# musl registers no struct rseq, and has no headers of the kernel's.
CC=musl-gcc compile waits_musl waits.c -O1 -idirafter /usr/include -idirafter "/usr/include/$(gcc -print-multiarch)"
rewrite waits_musl
case $types in *cpu*) agrees "musl" waits_musl ./waits_musl.prof ;; esac
agrees "musl without perf events" waits_musl ./without ./waits_musl.prof
agrees "a static program" waits_static ./waits_static.prof
agrees "a static program without perf events" waits_static ./without ./waits_static.prof
