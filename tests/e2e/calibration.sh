# At the end of a run that was not short the runtime measures its hooks again. Hooks that run later, in exit handlers, do not
# give the time of that to a function. Other load only adds, so the least of several runs is compared, with a third of what
# these measurements take.
. "${0%/*}/common.inc"

cat >program.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <x86intrin.h>
__attribute__((noipa)) void spin(unsigned long cycles) {
  for (unsigned long start = __rdtsc(); __rdtsc() - start < cycles;) {
  }
}
__attribute__((noipa)) void handler(void) {}
__attribute__((noipa)) void leave(void) { exit(0); }
__attribute__((destructor(101))) void last(void) { handler(); }
int main(void) {
  spin(400000000);
  leave();
}
C
compile program program.c -O1 -static
rewrite program
for type in time elapsed; do
  for i in 1 2 3 4 5; do
    PROFTYPE=$type PROFDIR=. ./program.prof || fail "status $?"
    prof --json prof.[0-9]* | jq -r '[.functions[] | select(.name == "__run_exit_handlers" or .name == "last" or .name == "leave" or .name == "exit" or .name == "call_fini" or .name == "_dl_fini").self_cycles] | add' >>"$type"
    rm prof.[0-9]*
  done
  least=$(sort -n "$type" | head -n 1)
  [ "$least" -lt 250000 ] || fail "PROFTYPE=$type: the end of the program took $(tr '\n' ' ' <"$type") cycles"
done
