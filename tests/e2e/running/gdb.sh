# gdb's backtraces of a copy name the functions that those of the original do; of a stripped program they are as deep.
. "${0%/*}/../common.inc"

# backtraces PROGRAM: at both breakpoint instructions of stepped.c, and where the function recursive is called first, the names of all frames.
backtraces() {
  local function=()
  [ "${1#stripped}" != "$1" ] || function=(-ex 'tbreak recursive' -ex continue -ex bt)
  DEBUGINFOD_URLS='' PROFDIR=$PWD gdb -nx -q -batch -ex 'set width 0' -ex 'set backtrace past-main on' \
    -ex run -ex bt "${function[@]}" -ex continue -ex bt "./$1" >gdb.log 2>&1 </dev/null
  sed -n 's/^#\([0-9]*\)  \(0x[0-9a-f]* in \)\{0,1\}\([^ ]*\) .*/\1 \3/p' gdb.log
}
for link in $links; do
  for optimization in -O0 -O2; do
    turn || continue
    # shellcheck disable=SC2046 # lists of words
    compile program "$programs/stepped.c" $optimization $(link_flags "$link")
    strip -o stripped program
    for program in program stripped; do
      rewrite $program
      backtraces $program >expected
      backtraces $program.prof >found
      cmp -s expected found || fail "$link $optimization $program: $(diff expected found | head -n 8)"
      [ "$(grep -c '^0 ' found)" = $([ $program = program ] && echo 3 || echo 2) ] || fail "$link $optimization $program: $(tail -n 5 gdb.log)"
    done
  done
done
