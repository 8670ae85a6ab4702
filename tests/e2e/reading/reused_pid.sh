# Process numbers come again, and the next process with one leaves prof.PID.1 beside prof.PID: prof takes the last process's,
# and says so. A process that runs several programs, by exec, has one number all the time.
. "${0%/*}/../common.inc"

cat >program.c <<'C'
#include <unistd.h>
#define KEPT __attribute__((noipa))
static volatile int sum;
KEPT void earlier(void) { sum++; }
KEPT void later(void) { sum += 2; }
KEPT void executed(void) { sum += 3; }
int main(int argc, char** argv) {
  if (argc == 1) return later(), later(), 0;
  if (argv[1][0] == 'e') earlier();
  if (argv[1][0] == 'x') executed(), execl(argv[0], argv[0], "again", (char*)0);
  return 0;
}
C
compile program program.c -O1
rewrite program
# Hooks may take most of the time of such a program, which would be said.
export PROFTYPE=count
patch() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

./program.prof earlier
earlier=$(echo prof.*)
pid=${earlier#prof.}
# What that process would have left, had a later one got its number.
mkdir later
(cd later && PROFDIR=. ../program.prof)
mv later/prof.* "$earlier.1"
field() { tail -c +$(($2 + 1)) "$1" | head -c "$3"; }
field "$earlier" 32 4 | dd of="$earlier.1" bs=1 seek=32 conv=notrunc status=none
patch "$earlier" 208 '\1\0\0\0\0\0\0\0' # its start
said="^prof: the number $pid was that of several processes: $earlier.1 is of the last one, 1 profile of others left out$"

for arguments in "" "-p $pid" "program.prof" "-p $pid $earlier.1 $earlier"; do
  # shellcheck disable=SC2086 # a list of words
  run prof $arguments
  [ "$status" = 0 ] && grep -q "$said" stderr && [ "$(wc -l <stderr)" = 1 ] || fail "prof $arguments: $status $(cat stderr)"
  has_row 2 'later' && ! grep -q earlier stdout || fail "prof $arguments: $(cat stdout)"
done
run prof ctl status "$pid"
[ "$status" = 0 ] && grep -q "$said" stderr || fail "ctl: $status $(cat stderr)"
# Who names a file gets it.
run prof "$earlier"
[ "$status" = 0 ] && [ ! -s stderr ] && has_row 1 'earlier' || fail "named: $status $(cat stderr)"

# prof run: a program that leaves no profile is not shown that of an earlier process.
mkdir run
cat >number.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char** argv) {
  char command[200];
  snprintf(command, sizeof command, "cp %s run/prof.%d.9; printf '\\%o\\%o\\%o\\%o' | dd of=run/prof.%d.9 bs=1 seek=32 conv=notrunc status=none", argv[1],
           getpid(), getpid() & 255, getpid() >> 8 & 255, getpid() >> 16 & 255, getpid() >> 24, getpid());
  const int status = system(command);
  snprintf(command, sizeof command, "run/prof.%d", getpid());
  return status || (argc > 2 && unlink(command));
}
C
compile number number.c
PROFDIR=run run prof run ./number "$earlier" removing
grep -q '^prof: ./number: left no profile; if no line above says why, .*: run it again$' stderr || fail "prof run without a profile: $(cat stderr)"
PROFDIR=run run prof run ./number "$earlier.1"
grep -qP '\tmain$' stderr && grep -q 'several processes' stderr && grep -qx 'prof: the profile is run/prof\.[0-9]*; to look at it: prof --html page.html run/prof\.[0-9]*' stderr || fail "prof run: $(cat stderr)"

# Of one process, the last program's.
rm prof.*
run ./program.prof x
run prof -p "$(ls prof.*.1 | sed 's/prof\.//; s/\.1$//')"
[ "$status" = 0 ] && ! grep -q 'several processes' stderr && grep -q executed stdout || fail "exec: $status $(cat stderr stdout)"
