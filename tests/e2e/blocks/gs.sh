# profld -b of a program that uses the segment register gs itself: it finds its own data there as before, and lines have the
# counts that gcov gives them, with threads, children and hooks or without.
. "${0%/*}/../common.inc"

mkdir coverage
(cd coverage && gcc -O0 -w --coverage -fprofile-update=atomic -pthread -o cov "$programs/blocks_gs.c" && ./cov >output &&
  gcov cov-blocks_gs.c >report 2>&1) || fail "gcov"

# counted WHAT ENDS: of the profiles that are there.
counted() {
  cmp -s stdout coverage/output || fail "$1: the output is not that of the original: $(cat stdout stderr)"
  [ "$(compgen -G 'prof.[0-9]*' | wc -l)" = $processes ] || fail "$1: $(compgen -G 'prof.[0-9]*')"
  # Of a process that was killed, the end is missing.
  sed "$2" coverage/blocks_gs.c.gcov >wanted.gcov
  prof --json gs.prof prof.[0-9]* >json 2>prof.log || fail "$1: $(cat prof.log)"
  python3 "$tests/block_lines.py" gs "$programs/blocks_gs.c" json wanted.gcov >lines 2>&1 || fail "$1: $(head -n 5 lines)"
}

for link in '-pie -fPIE' -no-pie -static; do
  for hooks in '' --no-hooks; do
    processes=2
    case $link$hooks in -static--no-hooks) processes=1 ;; esac # nothing tells of the fork: the child counts for its parent
    # shellcheck disable=SC2086 # lists of words
    compile gs "$programs/blocks_gs.c" -g -O0 $link
    # shellcheck disable=SC2086
    rewrite gs -b $hooks
    [ "$(jq .counters_locked gs.report)" = true ] || fail "$link $hooks: the counters are not locked"
    objdump -d gs.prof >code
    ! grep 'incq .*%gs:.*rip' code >increments || fail "$link $hooks: counts by gs: $(head -n 1 increments)"
    rm -f prof.[0-9]*
    run ./gs.prof
    [ "$status" = 0 ] || fail "$link $hooks: status $status"
    counted "$link $hooks" ''
    rm -f prof.[0-9]*
    { ./gs.prof kill >stdout 2>stderr; } 2>killed
    counted "$link $hooks, killed" '/raise(SIGKILL)/d; /return 0;/d; /^[^:]*: *[0-9]*:}/d'
  done
done

# A program that has the base of gs set, and code that uses it made at run time.
cat >made.c <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int arch_prctl(int code, unsigned long address);
static long words[8] = {0, 42};
int main(void) {
  static const unsigned char code[] = {0x65, 0x48, 0x8b, 0x04, 0x25, 8, 0, 0, 0, 0xc3}; // mov %gs:8, %rax; ret
  void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(page, code, sizeof code);
  arch_prctl(0x1001, (unsigned long)words);
  long sum = 0;
  for (int i = 0; i < 10; i++) sum += ((long (*)(void))page)();
  printf("%ld\n", sum);
}
C
compile made made.c -O1 -g
rewrite made -b
profiled made
[ "$(cat made.stdout)" = 420 ] || fail "code made at run time: $(cat made.stdout)"
[ "$(jq .counters_locked made.report)" = true ] || fail "code made at run time: the counters are not locked"

# A trace needs gs for itself.
run profld --trace -o no gs
[ "$status" = 1 ] && grep -q 'uses the register gs, which --trace needs; profile it without --trace' stderr || fail "--trace: $status $(cat stderr)"
