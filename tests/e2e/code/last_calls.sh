# What never returns, as only the code of its callers shows: jumps are understood in spite of what is after its calls; where
# a call is the last of some function and goes on in another, nothing is concluded.
. "${0%/*}/../common.inc"

gcc -O1 -shared -fPIC -DLIBRARY -o libquit.so "$programs/last_calls.c" || fail "cannot compile the library"
# checked PROGRAM STAYING [PROFLD OPTION...]: so many of its functions stay, and two_tables and offsets are among them.
checked() {
  local program=$1 staying=$2
  shift 2
  rewrite "$program" "$@"
  profiled "$program"
  expect_calls_by_address "$program" whole
  [ "$(jq '.skipped | length' "$program.report")" = "$staying" ] || fail "$program: not $staying functions stay: $(jq -c .skipped "$program.report")"
  for function in two_tables offsets; do
    address=$(nm whole | awk -v name=$function '$3 == name { sub(/^0*/, "0x"); print $1 }')
    jq -e --arg a "$address" '.skipped[] | select(.address == $a)' "$program.report" >/dev/null || fail "$program: $function has hooks"
  done
  profiled "$program" wrong # exits with the status that usage wants
}
for compiler in gcc clang; do
  for link in pie no-pie; do
    # shellcheck disable=SC2046 # lists of words
    CC=$compiler compile whole "$programs/last_calls.c" -O2 -DTABLES $(link_flags $link) -L. -lquit '-Wl,-rpath,$ORIGIN'
    cp whole described
    checked described 2
    # shellcheck disable=SC2046
    CC=$compiler compile whole "$programs/last_calls.c" -O2 -fno-asynchronous-unwind-tables $(link_flags $link) -L. -lquit '-Wl,-rpath,$ORIGIN'
    strip -o stripped whole
    checked stripped 3 --discover # and behind
  done
done
