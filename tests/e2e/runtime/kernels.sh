# Kernels and file systems that cannot do what the runtime would like: it does without, or says in one line why nothing is
# recorded; the program behaves the same.
. "${0%/*}/../../libprof/common.inc"

hooked bounds
gcc -O1 -o launch "$hand/launch.c" || fail "cannot compile launch.c"
./bounds wide >expected
rm -f prof.*

# launched WHAT... : what `launch` is told, and then the program.
launched() {
  local words=("$@")
  printf '#!/bin/bash\nexec ./launch %s -- ./bounds "$@"\n' "${words[*]}" >launched
  chmod +x launched
}
madvise="28:2" # and its advice

# Before Linux 5.14 there is no MADV_POPULATE_WRITE (23): a fixed part of the file is allocated at the start.
launched "$madvise=23" 22
record launched contexts 600000
same_calls "without MADV_POPULATE_WRITE"
[ "$(header lost)" = 0 ] && [ "$(header folded)" -gt 0 ] && [ $(($(header flags) & 2)) = 2 ] ||
  fail "without MADV_POPULATE_WRITE: $(head -n 1 profile)"
[ "$(stat -c %s profiles/prof.*)" -le 16777216 ] || fail "without MADV_POPULATE_WRITE: $(stat -c %s profiles/prof.*) bytes"

# refused WORDS... -- REASON
refused() {
  local reason=${*: -1}
  launched "${@:1:$#-1}"
  rm -rf profiles
  mkdir profiles
  PROFDIR=profiles run ./launched wide
  cmp -s stdout expected && [ "$status" = 0 ] || fail "$reason: the program behaves differently: status $status, $(head -n 1 stdout)"
  [ "$(wc -l <stderr)" = 1 ] && grep -q "^prof: .*$reason" stderr || fail "$reason: says $(cat stderr)"
  [ -z "$(ls profiles)" ] || fail "$reason: leaves $(ls profiles)"
}
refused "$madvise=18" 22 "keep a forked child out"    # MADV_WIPEONFORK
refused "$madvise=10" 22 "keep a forked child out"    # MADV_DONTFORK
refused "$madvise=23" 22 285 28 "no space left"       # fallocate on a full disk
refused "$madvise=23" 14 "no space left"              # the same, by MADV_POPULATE_WRITE
refused 77 1 "operation not permitted"                # ftruncate

# Without the right to read the counter (glibc's loader reads it, so only a static program gets that far).
compile static "$programs/recursion.c" -O1 -static
rewrite static
./static >expected.static
PROFDIR=profiles run ./launch notsc -- ./static.prof
cmp -s stdout expected.static && [ "$status" = 0 ] && [ -z "$(ls profiles)" ] &&
  grep -qx 'prof: the program may not read the time-stamp counter, so nothing is recorded; .*' stderr || fail "no right to read the counter: status $status, $(cat stderr)"
PROFTYPE=count PROFDIR=profiles run ./launch notsc -- ./static.prof
prof static.prof profiles/prof.* >view 2>&1 && cmp -s stdout expected.static || fail "no right to read the counter, counted: $(cat stderr view | head -n 3)"

# No shared mappings: private memory, written at exit.
launched 9:3=1 19 9:3=17 19 # also at a fixed address
mkdir -p profiles
rm -f profiles/*
PROFDIR=profiles run ./launched contexts 300000
[ "$status" = 0 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q '^prof: .*cannot share a file as memory, so the profile is written when the program exits, and a killed program leaves none; set PROFDIR to' stderr || fail "no shared mappings: says $(cat stderr)"
dump_profiles
same_calls "no shared mappings"
[ $(($(header flags) & 5)) = 5 ] || fail "no shared mappings: $(head -n 1 profile)"
compile endless "$programs/endless.c" -O1
rewrite endless
rm -f profiles/*
PROFDIR=profiles ./launch 9:3=1 19 9:3=17 19 -- ./endless.prof >/dev/null 2>&1 &
until [ -s "$(echo profiles/prof.*)" ]; do sleep 0.05; done
prof ctl off profiles/prof.* 2>view && fail "no shared mappings, ctl: $(cat view)"
grep -q ': its file system cannot share a file as memory, so nothing is known of the program before it exits; set PROFDIR to a folder on a disk$' view || fail "no shared mappings, ctl: $(cat view)"
kill -KILL $!
{ wait $!; } 2>/dev/null
prof endless.prof profiles/prof.* >view 2>&1
grep -q 'cannot share a file as memory, so calls are written when the program exits' view || fail "no shared mappings, killed: prof says $(cat view)"

# A counter that does not tick evenly: neither the processor nor the kernel vouches for it.
cat >uneven.gdb <<'GDB'
set breakpoint pending on
set disable-randomization off
break 'libprof::(anonymous namespace)::processor_says_invariant'
commands
silent
return 0
continue
end
break 'libprof::(anonymous namespace)::kernel_uses_counter'
commands
silent
return 0
continue
end
set confirm off
run wide
GDB
rm -f profiles/*
PROFDIR=profiles gdb -q -batch -x uneven.gdb ./bounds >gdb.log 2>&1 </dev/null
grep -q "^prof: this machine's time-stamp counter does not tick evenly" gdb.log || fail "uneven counter: $(tail -n 3 gdb.log)"
grep -qx "$(tail -n 1 expected)" gdb.log || fail "uneven counter: the program behaves differently: $(tail -n 3 gdb.log)"
[ -z "$(ls profiles)" ] || fail "uneven counter: leaves $(ls profiles)"
