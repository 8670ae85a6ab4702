# At the end of a run that was not short the runtime measures its hooks again. Hooks that run later, in exit handlers, do not
# give the time of that to a function: their time is that of a run that was short. With the measurements it would be ten times
# as much or more. Other load only adds, so the least of several runs are compared.
. "${0%/*}/../common.inc"

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
int main(int argc, char** argv) {
  spin(strtoul(argv[argc - 1], NULL, 10));
  leave();
}
C
compile program program.c -O1 -static
rewrite program
# least TYPE CYCLES: the cycles that the end of the program took, of runs that are so long.
least() {
  for _ in 1 2 3 4 5; do
    PROFTYPE=$1 PROFDIR=. ./program.prof "$2" || fail "status $?"
    prof --json prof.[0-9]* | jq -r '[.functions[] | select(.name == "__run_exit_handlers" or .name == "last" or .name == "leave" or .name == "exit" or .name == "call_fini" or .name == "_dl_fini").self_cycles] | add'
    rm prof.[0-9]*
  done | sort -n | head -n 1
}
for type in time elapsed; do
  short=$(least $type 1000) long=$(least $type 400000000)
  [ "$long" -lt $((5 * short)) ] || fail "PROFTYPE=$type: the end of the program took $long cycles, of a short run $short"
done
