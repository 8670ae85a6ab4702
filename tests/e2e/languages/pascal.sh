# Pascal, by Free Pascal, which writes no unwind tables and raises exceptions with a longjmp of its own.
. "${0%/*}/../common.inc"

printf 'the quick\nbrown fox\n' >lines
for options in -O- -O3; do
  # -Xs-: with symbols, which are all that tells where functions are.
  made fleet fpc -Xs- $options -FE. -FU. "$programs/fleet.pas" >compile.log 2>&1 || fail "cannot compile: $(tail -n 3 compile.log)"
  rewrite fleet
  INPUT=lines profiled fleet
  [ "$status" = 8 ] || fail "exit status $status"
  expect_calls fleet <fleet.stdout
done

# Without them there is nothing to go by. Debian's own Pascal programs are all like that.
strip fleet
for program in fleet "$(readlink -f "$(command -v ppcx64)")"; do
  run profld -o refused "$program"
  [ "$status" = 3 ] && grep -q 'no functions found' stderr || fail "$program: status $status, $(cat stderr)"
done
