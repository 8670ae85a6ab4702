# PROFSTART, and what of it children and programs that are executed inherit.
. "${0%/*}/../common.inc"
. "${0%/*}/../controlled.inc"

# A forked child begins as its parent is at that moment, whatever its own parent began as.
cat >parent.c <<'C'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) static int called(int n) { return n + 1; }
__attribute__((noipa)) static void point(void) {
  puts("waiting");
  fflush(stdout);
  getchar();
}
static void fork_twice(void) {
  if (fork() == 0) {
    if (fork() == 0) _exit(called(1));
    wait(0);
    _exit(called(0));
  }
  wait(0);
}
int main(void) {
  called(0);
  point();
  fork_twice();
  point();
  fork_twice();
  puts("done");
}
C
for link in pie static; do
  # shellcheck disable=SC2046 # a list of words
  compile "parent-$link" parent.c -O1 $(link_flags $link)
  rewrite "parent-$link"
  for began in on off; do
    PROFSTART=$began start "parent-$link"
    waits
    first=$(ls profiles)
    [ $began = off ] || ctl off "$path"
    goes_on
    waits
    ls profiles/prof.* >before
    ctl on "$path"
    goes_on
    waits && fail "parent-$link: too many points"
    ends
    [ "$first" = "prof.$pid" ] && [ "$(wc -l <before)" = 3 ] && [ "$(compgen -G 'profiles/prof.*' | wc -l)" = 5 ] ||
      fail "parent-$link: profiles: $(ls profiles)"
    for child in profiles/prof.*; do
      [ "$child" != "$path" ] || continue
      run prof --no-header "parent-$link.prof" "$child"
      if grep -qx "$child" before; then
        [ "$(wc -l <stdout)" = 1 ] && grep -qx "prof: $child: recording was never switched on (PROFSTART=off, see prof ctl)" stderr
      else
        has_row 1 'called' && ! grep -q 'recording was' stderr
      fi || fail "parent-$link, began $began: $child: $(cat stdout stderr)"
    done
  done
done

# A child that comes to its first call when its parent has ended and the parent's profile was cut off.
cat >orphan.c <<'C'
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) static int called(int n) { return n + 1; }
int main(void) {
  const int child = fork();
  if (child) {
    printf("%d\n", child);
    return 0;
  }
  char c;
  if (read(0, &c, 1) != 1) return 1;
  return called(c) != 'x' + 1;
}
C
for link in pie static; do
  # shellcheck disable=SC2046 # a list of words
  compile "orphan-$link" orphan.c -O1 $(link_flags $link)
  rewrite "orphan-$link"
  rm -rf profiles fifo
  mkdir profiles
  mkfifo fifo
  PROFSTART=off PROFDIR=profiles "./orphan-$link.prof" <fifo >stdout &
  exec {to}>fifo
  wait $! || fail "orphan-$link: the parent ended with $?"
  child=$(cat stdout)
  : >profiles/prof.$!
  printf x >&"$to"
  exec {to}>&-
  while kill -0 "$child" 2>/dev/null; do sleep 0.01; done
  prof --json "orphan-$link.prof" "profiles/prof.$child" 2>prof.log | jq -e '.complete and .limited' >/dev/null || fail "orphan-$link: $(cat prof.log)"
done

# A program that is executed begins as its own environment says.
cat >again.c <<'C'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) static int called(int n) { return n + 1; }
int main(int argc, char** argv) {
  called(0);
  if (argc > 2) return 0;
  argc > 1 ? setenv("PROFSTART", "off", 1) : unsetenv("PROFSTART");
  return execl("/proc/self/exe", argv[0], "again", argc > 1 ? "last" : (char*)0, (char*)0);
}
C
compile again again.c -O1
rewrite again --no-imports
rm -rf profiles
mkdir profiles
PROFSTART=off PROFDIR=profiles ./again.prof || fail "again: $?"
for profile in profiles/prof.*; do prof --json again.prof "$profile" 2>/dev/null | jq -c '[.limited, ([.functions[].calls] | add)]'; done >found
[ "$(paste -sd ' ' found)" = "[true,null] [false,2] [true,null]" ] || fail "execve: $(cat found)"

PROFSTART=maybe PROFDIR=profiles ./again.prof last last >/dev/null 2>stderr </dev/null
[ "$(cat stderr)" = "prof: PROFSTART=maybe: is neither on nor off; recording is on" ] || fail "PROFSTART: $(cat stderr)"
exit 0
