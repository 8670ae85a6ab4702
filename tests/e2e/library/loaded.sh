# A shared library of the program's own: its functions are counted, whoever loads the copy.
. "${0%/*}/../common.inc"

cat >work.c <<'C'
static int done;
int is_done(void) { return done; }
int step(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += i ^ done;
  return sum;
}
int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += step(i);
  done += is_done() + 1;
  return sum;
}
C
cat >host.c <<'C'
#include <stdio.h>
int work(int n);
int main(void) {
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += work(i);
  printf("%d\n", sum);
  return 3;
}
C
mkdir plain copy
compile plain/libwork.so work.c -O1 -shared -fPIC -Wl,-soname,libwork.so
compile host host.c -O1 plain/libwork.so
profld -o copy/libwork.so plain/libwork.so
profld -o host.prof --no-imports host

# calls FILE NAME: how often it was called, "none" if it is not in the profile.
calls() { prof --json "$1" | jq -r --arg name "$2" '[.functions[] | select(.name == $name) | .calls][0] // "none"'; }

# same WHAT FOUND EXPECTED
same() { [ "$2" = "$3" ] || fail "$1: $2, not $3"; }

export PROFDIR=$PWD/profiles
for program in host host.prof; do
  rm -rf profiles && mkdir profiles
  LD_LIBRARY_PATH=plain run ./host
  mv stdout expected
  rm -rf profiles && mkdir profiles
  LD_LIBRARY_PATH=copy run ./$program
  [ "$status" = 3 ] && cmp -s stdout expected || fail "$program: status $status, $(cat stdout stderr)"
  [ "$(ls profiles | wc -l)" = 1 ] || fail "$program: $(ls profiles)"
  same "calls of work ($program)" "$(calls profiles/prof.* work)" 10
  same "calls of step ($program)" "$(calls profiles/prof.* step)" 45
  same "calls of is_done, which is too small ($program)" "$(calls profiles/prof.* is_done)" none
done

profld --all -o copy/libwork.so plain/libwork.so
rm -rf profiles && mkdir profiles
LD_LIBRARY_PATH=copy run ./host.prof
same "calls of is_done, with --all" "$(calls profiles/prof.* is_done)" 10
