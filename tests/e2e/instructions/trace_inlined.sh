# profld --trace writes down each basic block that runs: as many instructions as single steps count, each block as often as -b
# counts it; also where handlers of signals come anywhere, with threads, in forked children, and up to the moment of a kill.
. "${0%/*}/../common.inc"

# traced FILE...: what the traces say, in the file said.json.
traced() { python3 "$tests/block_trace.py" "$@" >said.json 2>stderr || fail "$*: $(tail -n 1 stderr)"; }

# ask EXPRESSION: of `t`, the contents of said.json.
ask() { python3 -c 'import json; t = json.load(open("said.json")); print('"$1"')'; }

# Without a C library all is the same each time.
compile count_steps "$programs/count_steps.c" -O1
for options in "-O0" "-O1 -fcf-protection" "-O2 -static-pie -fPIE"; do
  # shellcheck disable=SC2086 # several words
  made bare gcc -w -DBARE -DROUNDS=6 $options -static -nostdlib -fno-stack-protector -o bare "$programs/traced.c" ||
    fail "$options: does not compile"
  steps=$(./count_steps ./bare | tail -n 1)
  ./bare >expected
  expected=$?
  for hooks in "" --no-hooks; do
    rm -f prof.[0-9]* trace.*
    # shellcheck disable=SC2086 # none or one
    profld --trace $hooks -o bare.prof bare || fail "$options: profld"
    run ./bare.prof
    [ "$status" = "$expected" ] && cmp -s stdout expected || fail "$options: status $status, output $(head -n 1 stdout)"
    traced trace.[0-9]*
    [ "$(ask 't["instructions"]')" = "$steps" ] || fail "$options: $(ask 't["instructions"]') instructions, not $steps"
  done
  rm -f prof.[0-9]*
  profld -b -o bare.blocks bare || fail "$options: profld -b"
  ./bare.blocks >stdout
  prof --json bare.blocks prof.[0-9]* >json || fail "$options: prof"
  python3 - <<'END' || fail "$options: the counts of blocks are others than those of -b"
import json
counts = {int(b["address"], 16): b["count"] for b in json.load(open("json"))["blocks"] if b["count"]}
traced = {int(a, 16): n for a, n in json.load(open("said.json"))["blocks"].items()}
assert counts == traced, sorted(counts.items() ^ traced.items())[:4]
END
done

# Code that passes flags along, from function to function and round a loop.
compile asm "$programs/asm.c" -O1 -Wa,--noexecstack
./asm >asm.stdout || fail "asm: status $?"
for hooks in "" --no-hooks; do
  rm -f prof.[0-9]* trace.*
  # shellcheck disable=SC2086 # none or one
  profld --trace $hooks -o asm.prof asm || fail "asm: profld"
  run ./asm.prof
  [ "$status" = 0 ] && cmp -s stdout asm.stdout || fail "asm $hooks: status $status, $(diff asm.stdout stdout | head -n 3)"
done

# run_traced ARG...: runs the program below; $parent is its own trace.
run_traced() {
  ./traced.prof "$@" >stdout 2>stderr &
  parent=trace.$!
  wait $! 2>killed # where bash says so
}

# Handlers, threads, children.
for link in -static -pie; do
  compile traced "$programs/traced.c" -O1 $link
  profld --trace -o traced.prof traced || fail "$link: profld"
  nm traced >symbols
  rm -f prof.[0-9]* trace.*
  if [ "$link" = -static ]; then
    PROFLIMIT=400k run_traced || fail "PROFLIMIT=400k: status $?"
    [ "$(sort -u stderr)" = "prof: PROFLIMIT is too little for the table of the program's blocks; there is no trace" ] && [ ! -e "$parent" ] ||
      fail "PROFLIMIT=400k: $(cat stderr) $(echo trace.*)"
  fi
  for end in return kill; do
    rm -f prof.[0-9]* trace.*
    run_traced $end
    [ ! -s stderr ] || fail "$link, $end: $(head -n 1 stderr)"
    [ "$(find . -name 'trace.*' | wc -l)" = 2 ] || fail "$link, $end: $(echo trace.*), not one of the program and one of its child"
    traced "$parent"
    [ "$(ask 't["threads"]')" = 5 ] || fail "$link, $end: $(ask 't["threads"]') threads, not 5"
    python3 - "$(sed -n 's/^ticks //p' stdout)" <<'END' || fail "$link, $end: the blocks are not those that ran"
import json, sys
symbols = {name: int(address, 16) for address, _, name in (line.split() for line in open("symbols") if len(line.split()) == 3)}
blocks = {int(a, 16): n for a, n in json.load(open("said.json"))["blocks"].items()}
assert blocks[symbols["in_handler"]] == int(sys.argv[1])
# All calls but 12 of 1000 rounds and one of 7 have 100000.
loop = max((n, a) for a, n in blocks.items() if symbols["counted"] <= a < symbols["counted"] + 0x40)[0]
calls = blocks[symbols["counted"]]
assert loop == 100000 * (calls - 13) + 12 * 1000 + 7, (calls, loop)
END
    traced "$(find . -name 'trace.*' ! -name "$parent")"
    child=$(python3 -c 'import json; print(max(json.load(open("said.json"))["blocks"].values()))')
    [ "$child" = 100 ] || fail "$link, $end: the child's loop ran $child times, not 100"
  done
done

# A handler comes before each instruction of the code of records: nothing is lost, also when it writes more than windows have room
# for, which are used again meanwhile.
made interrupt_each g++ -std=c++20 -O1 -o interrupt_each "$tests/unwind/interrupt_each.cc" 2>compile.log || fail "$(head -n 3 compile.log)"
for link in -static -pie; do
  compile handled "$programs/handled.c" -O1 $link
  for trace in --trace --trace=memory; do
    turn || continue
    rm -f prof.[0-9]* trace.*
    profld $trace -o handled.prof handled || fail "$link $trace: profld"
    run ./interrupt_each ./handled.prof
    [ "$status" = 0 ] || fail "$link $trace: status $status, $(cat stdout stderr)"
    prof istat --all trace.[0-9]* >statistics 2>remarks
    grep -v 'addresses of some accesses' remarks >stderr
    [ ! -s stderr ] || fail "$link $trace: $(head -n 3 stderr)"
    # How often the code ran that begins where each function does: the last table.
    while read -r function times; do
      traced=$(sed -nE "s/^ *[0-9]+ +[0-9.]+ +([0-9]+) +[0-9]+\t$function\$/\1/p" statistics | tail -n 1)
      [ "$traced" = "$times" ] || fail "$link $trace: $function ran $traced times, not $times"
    done <stdout
  done
done

# What ran after the last record of code that a handler left for good is missing, and that is said.
compile leave_handler "$programs/leave_handler.c" -O1
for trace in --trace --trace=memory; do
  profld $trace -o leave_handler.prof leave_handler || fail "leave_handler $trace: profld"
  for faults in 0 10; do
    rm -f prof.[0-9]* trace.*
    ./leave_handler.prof $faults || fail "leave_handler.prof $faults: status $?"
    prof istat trace.[0-9]* >stdout 2>stderr
    [ "$(grep -cE 'may lack the last instructions of code that did not go on, in '$faults' places' stderr)" = $((faults != 0)) ] ||
      fail "leave_handler.prof $faults, $trace: $(cat stderr)"
  done
done

# The limit ends the trace, not the program; a ring keeps the last of it.
rm -f prof.[0-9]* trace.*
PROFLIMIT=400k run_traced || fail "PROFLIMIT: status $?"
traced "$parent"
[ "$(ask 't["end"]')" = 3 ] || fail "PROFLIMIT: the trace does not say that the limit ended it"
limited=$(stat -c %s "$parent")
[ "$limited" -le 409600 ] || fail "PROFLIMIT: $limited bytes"
rm -f prof.[0-9]* trace.*
PROFLIMIT=409600 run_traced || fail "PROFLIMIT=409600: status $?" # the file grows by large parts
[ "$(stat -c %s "$parent")" = "$limited" ] || fail "PROFLIMIT=400k: $limited bytes, with 409600 $(stat -c %s "$parent")"
rm -f prof.[0-9]* trace.*
PROFLAST=1M run_traced || fail "PROFLAST: status $?"
traced "$parent"
[ "$(ask 't["ring"]')" = True ] || fail "PROFLAST: the trace is not marked as a ring"
# The program's five threads have 1 MB each, and a quarter of it that is being written.
[ "$(stat -c %s "$parent")" -le 8000000 ] || fail "PROFLAST: $(stat -c %s "$parent") bytes"
PROFLIMIT=much ./traced.prof 2>&1 >stdout | grep -q '^prof: PROFLIMIT=much: is not a number of bytes; write 500K, 20M or 2G; it is ignored$' || fail "PROFLIMIT=much: is not told"

run profld --trace -b -o none traced
[ "$status" = 2 ] && grep -q -e '-b and --trace' stderr || fail "--trace -b: status $status, $(head -n 1 stderr)"
