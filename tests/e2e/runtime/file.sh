# The file: never overwritten, private, in $PROFDIR; what hinders it is said once, and never hinders the program.
. "${0%/*}/../../libprof/common.inc"

hooked bounds
record bounds wide
file=$(echo profiles/prof.*)
[ "$(stat -c %a "$file")" = 600 ] || fail "mode $(stat -c %a "$file")"
[ "$(stat -c %s "$file")" -lt 10000000 ] || fail "$(stat -c %s "$file") bytes after a normal end"

# The same process id again: exec.
rm -rf profiles
mkdir profiles
PROFDIR=profiles bash -c 'echo $$ >pid; exec ./bounds wide' >/dev/null
pid=$(cat pid)
[ -f "profiles/prof.$pid" ] || fail "the profile is not called prof.$pid"
cat >again.sh <<'SCRIPT'
ln -s nowhere "profiles/prof.$$"
echo old >"profiles/prof.$$.1"
exec ./bounds wide
SCRIPT
PROFDIR=profiles bash again.sh >/dev/null &
pid=$!
wait $pid
[ "$(cat "profiles/prof.$pid.1")" = old ] && [ -h "profiles/prof.$pid" ] && [ ! -e profiles/nowhere ] || fail "a file was overwritten"
./dump "profiles/prof.$pid.2" >/dev/null || fail "no profile beside files of the same name"

# Reasons not to record: one line, the same output and exit status.
./bounds wide >expected
rm -f prof.*
refused() {
  cmp -s stdout expected && [ "$status" = 0 ] || fail "$1: the program behaves differently"
  [ "$(wc -l <stderr)" = 1 ] && grep -q "^prof: .*$2" stderr || fail "$1: says $(cat stderr)"
}
PROFDIR=/proc/nonexistent run ./bounds wide
refused "no such directory" "/proc/nonexistent.*no such directory"
printf '#!/bin/bash\nulimit -f 1\nexec ./bounds wide\n' >limited
run bash limited
refused "ulimit -f 1" "limit on file sizes"
[ -z "$(ls prof.* 2>/dev/null)" ] || fail "left $(ls prof.*)"

# What can be put right is: a directory that is not there is made, for the user alone; of a type that is none, the default is
# taken, and that is said.
(umask 0 && PROFDIR=made/for/it ./bounds wide >stdout) 2>stderr || fail "status $?"
[ ! -s stderr ] && ls made/for/it/prof.* >/dev/null && [ "$(stat -c %a made made/for/it | sort -u)" = 700 ] ||
  fail "no directory: $(cat stderr; ls -lR made)"
PROFTYPE=timee PROFDIR=made run ./bounds wide
refused "PROFTYPE=timee" "PROFTYPE=timee: is not supported; use time, elapsed, cpu, adaptive, sample or count; time is used$"
[ "$(od -An -t u4 -j 24 -N 4 made/prof.* | tr -d ' ')" = 7 ] || fail "PROFTYPE=timee: type $(od -An -t u4 -j 24 -N 4 made/prof.*)"

# Limits that leave some room: what fits is recorded, and counts stay exact.
for limit in "-f 512" "-v 200000"; do
  printf '#!/bin/bash\nulimit %s\nexec ./bounds "$@"\n' "$limit" >limited
  chmod +x limited
  record limited contexts 300000
  same_calls "ulimit $limit"
  [ "$(stat -c %s profiles/prof.*)" -le 28000000 ] || fail "ulimit $limit: $(stat -c %s profiles/prof.*) bytes"
done

# No descriptor is kept, and the loss of all that there are is none of the profile's.
cat >descriptors.c <<'PROGRAM'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "hooked.h"
int random_function(int), leaf(int);
HOOKED(random_function);
HOOKED(leaf);
static int left;
int leaf_body(int x) { return x; }
int random_function_body(int x) { return x > 0 && left-- > 0 ? random_function(x - 1) + leaf(x) + random_function(x - 1) : 0; }
int main(void) {
  left = 20000;
  leaf(1);
  if (open("/dev/null", O_RDONLY) != 3) return 1;
  close_range(0, ~0u, 0);
  if (chdir("/") || (geteuid() == 0 && (chroot("/proc") || chdir("/") || setuid(65534)))) return 2;
  for (int i = 0; i < 40; i++) left = 2000, random_function(30);
  return 0;
}
PROGRAM
gcc -O1 -w -fPIC -I"$hand" -o descriptors descriptors.c "$BUILD/lib/libprof.so" -Wl,-rpath,"$BUILD/lib" || fail "cannot compile"
record descriptors
[ "$(header lost)" = 0 ] && [ $(($(header flags) & 2)) = 0 ] || fail "after closing all descriptors: $(head -n 1 profile)"
