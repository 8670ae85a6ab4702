# A program on another machine: proftarget waits in another network, prof trace and gdb reach it, and what had been sent is kept
# when the link breaks.
. "${0%/*}/../common.inc"

compile branches "$programs/branches.c" -g -O1 -nostdlib -static -no-pie -fno-pie -fno-stack-protector -fcf-protection=none
./branches
expected=$?
prof trace -o here -- ./branches

# waits COMMAND...: starts it, with a port that the system chooses; $port is that, $target its process.
waits() {
  local line=
  rm -f waiting
  mkfifo waiting
  "$@" 2>waiting >printed </dev/null &
  target=$!
  exec 5<waiting
  while [[ $line != *" port "* ]]; do read -r line <&5 || fail "$*: $line"; done
  port=${line##* }
  cat <&5 >said &
  exec 5<&-
}

# same FILE HOW: the trace is that of the program here.
same() { prof itrace "$1" | cut -f 2-4 | cmp -s - <(prof itrace here | cut -f 2-4) || fail "$2: another trace: $(prof itrace "$1" | wc -l) instructions"; }

waits proftarget 127.0.0.1:0 ./branches
run timeout $forever prof trace -o there --target "localhost:$port"
[ "$status" = "$expected" ] && [ ! -s stderr ] || fail "--target: status $status, $(cat stderr)"
wait $target || fail "proftarget: status $?"
same there --target

waits gdbserver --once 127.0.0.1:0 ./branches
run timeout $forever prof trace -o there --gdbserver="127.0.0.1:$port"
[ "$status" = "$expected" ] && [ ! -s stderr ] || fail "--gdbserver: status $status, $(cat stderr)"
wait $target
same there --gdbserver

# Who waits for a connection can be interrupted, and the program ends with it.
waits env --default-signal=INT proftarget 127.0.0.1:0 ./branches
program=$(pgrep -P $target)
{ kill -INT $target; wait $target; } 2>/dev/null
[ $? = 130 ] || fail "proftarget: interrupted, status $?"
while [ -e "/proc/$program" ] && ! grep -q '^State:.[ZX]' "/proc/$program/status" 2>/dev/null; do sleep 0.1; done

# Two machines, as far as the network goes, joined by a wire: what this machine lets out does not matter. Only root can make them.
here=here$$ there=there$$
if [ "$(id -u)" = 0 ] && ip netns add $here 2>netns.log; then
  trap 'ip netns del $here; ip netns del $there' EXIT
  { ip netns add $there && ip -n $here link add wire type veth peer name wire netns $there &&
    ip -n $here address add 10.231.0.1/30 dev wire && ip -n $here link set wire up &&
    ip -n $there address add 10.231.0.2/30 dev wire && ip -n $there link set wire up; } 2>netns.log || fail "$(cat netns.log)"
  waits ip netns exec $there proftarget 10.231.0.2:0 ./branches
  run timeout $forever ip netns exec $here prof trace -o there --target "10.231.0.2:$port"
  [ "$status" = "$expected" ] && [ ! -s stderr ] || fail "another network: status $status, $(cat stderr)"
  wait $target
  same there "another network"
fi

# The link breaks in mid-run: the program is one that does not end by itself.
cat >endless.c <<'END'
void _start(void) {
  for (volatile long n = 0;; ++n) {}
}
END
compile endless endless.c -O1 -nostdlib -static
# Steps it in the background; $tracing is that. It has come some way.
steps_endless() {
  waits proftarget 127.0.0.1:0 ./endless
  rm -f broken # that of the time before is not to be taken for this one
  timeout $forever prof trace -o broken --buffer 1K --target "127.0.0.1:$port" >stdout 2>stderr &
  tracing=$!
  until [ "$(prof istat broken 2>/dev/null | sed -n '1s/ .*//p')" -gt 1000 ] 2>/dev/null; do
    kill -0 $tracing 2>/dev/null || fail "broken: $(cat stderr)"
  done
}
steps_endless
{ kill -9 $target; wait $target; wait $tracing; } 2>/dev/null # where the shell tells of the one that was killed
[ $? = 1 ] && grep -qE '^prof: the link to the program broke: broken has a part of it, [0-9]+ instructions$' stderr || fail "broken: $(cat stderr)"
prof istat broken >stdout 2>/dev/null
[ "$(sed -n '1s/ .*//p' stdout)" -gt 1000 ] && grep -q 'partial' stdout || fail "broken: $(head -n 2 stdout)"
# The other way round, the program is killed.
steps_endless
program=$(pgrep -P $target)
{ kill -9 "$(pgrep -P $tracing)"; killed=$?; wait $target $tracing; } 2>/dev/null
[ $killed = 0 ] || fail "prof trace is not there"
# It ends, or the test does not.
while [ -e "/proc/$program" ] && ! grep -q '^State:.[ZX]' "/proc/$program/status" 2>/dev/null; do sleep 0.1; done

# gdb.
waits proftarget 127.0.0.1:0 ./branches
run timeout $forever gdb -batch -nx -ex "target remote 127.0.0.1:$port" -ex 'break thrice' -ex continue -ex 'print n' -ex stepi \
  -ex 'print values[0]' -ex 'print seed = 4' -ex delete -ex continue ./branches
grep -q 'Breakpoint 1, thrice (n=0)' stdout && grep -q '^\$1 = 0$' stdout && grep -q '^\$3 = 4$' stdout && grep -q 'exited with code' stdout ||
  fail "gdb: $(cat stdout stderr)"
wait $target

for arguments in "" "x" ":0" "nonsense:1 ./branches" "127.0.0.1:x ./branches" "--nonsense"; do
  # shellcheck disable=SC2086 # a list of words
  run proftarget $arguments
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "proftarget $arguments: $status $(cat stderr)"
done
run proftarget :0 ./nothing
[ "$status" = 1 ] && grep -q '^proftarget: ./nothing: No such file' stderr || fail "proftarget ./nothing: $status $(cat stderr)"
