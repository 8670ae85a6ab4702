# profld --trace=memory: the addresses, sizes and directions of all loads and stores are those that lackey sees, and those that are
# seen by stepping; handlers of signals, threads and forked children write down their own.
. "${0%/*}/../common.inc"

# Where nothing is random, and the program's name and its environment are as long each time, the stack is at the same place.
alike() {
  local last=${PROFLAST-} fill=--------
  run timeout $forever env -i PATH="$PATH" PROFDIR="$PWD" PROFLAST="$last" FILL="${fill:${#last}}" setarch -R "$@"
}

# What both tell of memory: the working set, distances between uses of the same line, and caches.
of_memory() { prof istat --only working-set,reuse,cache --reuse --cache --all --window 500 "$1" 2>remarks | tail -n +4; }

# Where programs may not read the base of fs, the trace lacks what is relative to it, and says so.
without_fs=
if ! reads_fs; then
  without_fs=-DWITHOUT_FS
  made forms gcc -w -O1 -static -nostdlib -no-pie -fno-pie -o forms "$programs/memory_forms.c" || fail "does not compile"
  profld --trace=memory --no-hooks -o forme forms || fail "fs: profld"
  alike ./forme
  prof itrace --lackey trace.[0-9]* 2>remarks >listed
  grep -q 'lacks the addresses of some accesses that such a trace cannot tell$' remarks || fail "fs: $(cat remarks)"
  grep -q '^ [LS] 0*[0-9a-f]*[1-9a-f][0-9a-f]*,' listed || fail "fs: no accesses: $(head listed)"
fi

# Without a C library all is the same each time.
without_library="-static -nostdlib -no-pie -fno-pie -fno-stack-protector"
for level in -O0 -O1 -O2; do
  # shellcheck disable=SC2086 # several words
  made forms gcc -w $level $without_fs $without_library -o forms "$programs/memory_forms.c" || fail "$level: does not compile"
  ./forms
  expected=$?
  rm -f trace.*
  # The program sets the base of fs itself, which hooks need.
  profld --trace=memory --no-hooks --report report -o forme forms || fail "$level: profld"
  alike ./forme
  [ "$status" = "$expected" ] || fail "$level: status $status, not $expected"
  grep -q '"accesses_without_address": 0' report || fail "$level: $(grep accesses_without report)"
  mv trace.[0-9]* traced
  prof itrace --lackey traced 2>&1 >traced.lackey | grep -v 'has no end' >remarks
  [ ! -s remarks ] || fail "$level: $(cat remarks)"

  alike prof trace -o stepped -- ./forms
  prof itrace --lackey stepped >stepped.lackey
  [ "$(wc -l <stepped.lackey)" -gt 10000 ] || fail "$level: $(wc -l <stepped.lackey) lines"
  cmp -s stepped.lackey traced.lackey || fail "$level: not what is seen by stepping: $(diff stepped.lackey traced.lackey | head -n 5)"
  of_memory stepped >stepped.memory
  of_memory traced | diff stepped.memory - >difference || fail "$level: istat: $(head -n 5 difference)"
done

# What is not on the stack is as lackey has it.
# shellcheck disable=SC2086 # several words
made branches gcc -w -g -O1 $without_library -fcf-protection=none -o branches "$programs/branches.c" || fail "branches: does not compile"
not_of_stack() { sed -nE '/ [0-9a-f]{9,},/d; s/^(I  | [LSM] )0*/\1/p' "$1"; }
valgrind --tool=lackey --trace-mem=yes --log-file=lackey.log ./branches
not_of_stack lackey.log >lackey
for hooks in "" --no-hooks; do
  rm -f trace.*
  # shellcheck disable=SC2086 # none or one
  profld --trace=memory $hooks -o branches.prof branches || fail "branches: profld"
  ./branches.prof >stdout
  prof itrace --lackey trace.[0-9]* 2>remarks >listed
  not_of_stack listed >ours
  [ "$(grep -c '^ [LSM]' lackey)" -gt 500 ] || fail "lackey saw $(wc -l <lackey) lines"
  cmp -s lackey ours || fail "branches $hooks: not what lackey says: $(diff lackey ours | head -n 5)"
done

# Records that are packed, and windows that are used again, say what they say where all is kept as it was written.
# shellcheck disable=SC2086 # several words
made bare gcc -w -DBARE -DROUNDS=1200 -O1 $without_library -o bare "$programs/traced.c" || fail "bare: does not compile"
profld --trace=memory --no-hooks -o bare.prof bare || fail "bare: profld"
for last in "" 1G; do
  rm -f trace.*
  PROFLAST=$last alike ./bare.prof
  prof itrace --lackey trace.[0-9]* 2>remarks >"listed$last"
  stat -c %s trace.[0-9]* >"size$last"
done
cmp listed listed1G || fail "packed records are others"
[ "$(wc -l <listed)" -gt 500000 ] && [ $((3 * $(cat size))) -lt "$(cat size1G)" ] || fail "packed: $(wc -l <listed) lines, $(cat size) bytes, not packed: $(cat size1G)"

# What cannot be told is said.
# shellcheck disable=SC2086 # several words
made forms gcc -w -DUNKNOWN -O1 $without_fs $without_library -o forms "$programs/memory_forms.c" || fail "-DUNKNOWN: does not compile"
rm -f trace.*
profld --trace=memory --no-hooks --report report -o forme forms || fail "-DUNKNOWN: profld"
grep -q '"accesses_without_address": 1' report || fail "-DUNKNOWN: $(grep accesses_without report)"
if grep -qw avx2 /proc/cpuinfo; then
  run ./forme
  prof istat trace.[0-9]* 2>&1 >istat | grep -q 'lacks the addresses of some accesses' || fail "-DUNKNOWN: is not said"
fi

# With hooks and without.
for options in "-O0" "-O1 -fcf-protection" "-O2 -static-pie -fPIE"; do
  # shellcheck disable=SC2086 # several words
  made bare gcc -w -DBARE -DROUNDS=6 $options -static -nostdlib -fno-stack-protector -o bare "$programs/traced.c" ||
    fail "$options: does not compile"
  ./bare >expected.stdout
  expected=$?
  alike prof trace -o stepped -- ./bare
  prof itrace --lackey stepped >stepped.lackey
  of_memory stepped >stepped.memory
  for hooks in "" --no-hooks; do
    rm -f prof.[0-9]* trace.*
    # shellcheck disable=SC2086 # none or one
    profld --trace=memory $hooks -o barf bare || fail "$options: profld"
    alike ./barf
    [ "$status" = "$expected" ] && cmp -s stdout expected.stdout || fail "$options: status $status, output $(head -n 1 stdout)"
    prof itrace --lackey trace.[0-9]* 2>remarks >traced.lackey
    if [[ $options = *pie* ]]; then # the copy is loaded elsewhere
      cut -c 1-3 stepped.lackey >kinds
      cut -c 1-3 traced.lackey | cmp -s - kinds || fail "$options $hooks: not the accesses that stepping sees"
      continue
    fi
    cmp -s stepped.lackey traced.lackey || fail "$options $hooks: not what is seen by stepping: $(diff stepped.lackey traced.lackey | head -n 5)"
    of_memory trace.[0-9]* | diff stepped.memory - >difference || fail "$options $hooks: istat: $(head -n 5 difference)"
  done
done

# The address of each store, with handlers that come anywhere, and leave anywhere.
cat >check.py <<'END'
import re, subprocess, sys
area, of_ticks, ticks, child, trace = int(sys.argv[1], 16), int(sys.argv[2], 16), int(sys.argv[3]), sys.argv[4] == "child", sys.argv[5]
stores = {}  # by thread and function
for line in subprocess.run(["prof", "itrace", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.splitlines():
    fields = line.split("\t")
    if len(fields) < 5: continue
    name = fields[2].split("+")[0]
    if name in ("fill", "note"):
        stores.setdefault((fields[0], name), []).extend(int(a, 16) for a in re.findall(r"W8 0x([0-9a-f]+)", fields[4]))
fills = {thread: s for (thread, name), s in stores.items() if name == "fill"}
if child:
    assert list(fills.values()) == [[area + 8 * i for i in range(10)]], fills
    sys.exit()
assert len(fills) == 4, len(fills)
starts = []
for thread, s in fills.items():
    assert len(s) == 300 * 1000, len(s)
    starts.append(s[0])
    assert s == [s[0] + 8 * i for i in range(1000)] * 300, thread
assert sorted(starts) == [area + 8000 * i for i in range(4)], starts
notes = [a for (thread, name), s in stores.items() if name == "note" for a in s if a != of_ticks]
assert sorted(notes) == [of_ticks + 8 * i for i in range(1, ticks)], len(notes)
END
for link in -static -pie; do
  compile ticks "$programs/memory_ticks.c" -O1 -fno-unroll-loops $link
  profld --trace=memory -o ticks.prof ticks || fail "$link: profld"
  rm -f prof.[0-9]* trace.*
  ./ticks.prof >stdout 2>stderr &
  parent=trace.$!
  wait $! || fail "$link: status $?"
  [ ! -s stderr ] || fail "$link: $(head -n 1 stderr)"
  # shellcheck disable=SC2046 # three words
  python3 check.py $(cat stdout) parent "$parent" 2>stderr || fail "$link: $(tail -n 1 stderr)"
  # shellcheck disable=SC2046
  python3 check.py $(cat stdout) child "$(find . -name 'trace.*' ! -name "$parent")" 2>stderr || fail "$link, the child: $(tail -n 1 stderr)"
done

# A ring has the last of it.
rm -f prof.[0-9]* trace.*
PROFLAST=1M run ./ticks.prof
[ "$status" = 0 ] || fail "PROFLAST: status $status"
for trace in trace.*; do prof istat "$trace" >istat 2>remarks || fail "PROFLAST: $(cat remarks)"; done
! grep -q damaged remarks || fail "PROFLAST: $(cat remarks)"

# prof run has it, too; and words that there are not are refused.
PROFTYPE=count run prof run --trace=memory -- ./ticks
trace=$(sed -n 's/.*the trace is \([^;]*\);.*/\1/p' stderr)
[ -n "$trace" ] || fail "prof run: $(cat stderr)"
prof istat "$trace" 2>&1 | sed -n 2p | grep -q '[1-9][0-9]* loads, [1-9][0-9]* stores' || fail "prof run: $(prof istat "$trace" 2>&1 | head -n 2)"
run profld --trace=calls -o none ticks
[ "$status" = 2 ] && [ "$(cat stderr)" = "profld: --trace: invalid kind of trace 'calls'; write blocks or memory" ] || fail "profld --trace=calls: status $status, $(head -n 1 stderr)"
run prof run --trace=calls ./ticks
[ "$status" = 2 ] && grep -qx "prof: --trace: invalid kind of trace 'calls'; write blocks or memory" stderr ||
  fail "prof run --trace=calls: status $status, $(head -n 1 stderr)"
