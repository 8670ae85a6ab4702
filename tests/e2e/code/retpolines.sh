# Indirect jumps and returns through thunks that change their return address (-mindirect-branch, -mretpoline): thunks stay as they are, also
# those laid inline; all else is counted.
. "${0%/*}/../common.inc"

check() {
  local source=$1 program=program
  shift
  compile program "$programs/$source" -O2 "$@"
  rewrite program
  profiled program
  jq -r '.skipped[] | "\(.name)\t\(.reason)"' program.report | c++filt >skipped
  awk -F'\t' 'FILENAME == "skipped" { left[$1]; next } { n = $0; sub(/^calls /, "", n); sub(/ [0-9]*$/, "", n); if (/^calls / && !(n in left)) print }' \
    skipped program.stdout >wanted
  expect_calls program <wanted
}
for source in tail_calls.c pointers.c switch.c exceptions.cc; do
  for options in -mindirect-branch=thunk "-mindirect-branch=thunk -mfunction-return=thunk" "-mindirect-branch=thunk -static"; do
    # shellcheck disable=SC2086 # a list of words
    check $source $options -fcf-protection=none
    cut -f1 skipped | grep -qxFf <(sed -n 's/^calls \(.*\) [0-9]*$/\1/p' program.stdout) && fail "$source $options: left out: $(cut -f1 skipped | paste -sd ' ')"
  done
  check $source -mindirect-branch=thunk-inline -fcf-protection=none
  case $source in *.c) CC=clang check $source -mretpoline ;; esac
done
exit 0
