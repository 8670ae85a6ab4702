# The file starts small and grows with what is in use; it looks no larger than it is, however the program ends, and grows on when
# the program changes its root or its user.
. "${0%/*}/../../libprof/common.inc"

size() { stat -c %s profiles/prof.*; }
used() { echo $((64 * $(od -An -t u4 -j44 -N4 profiles/prof.*))); }

# Few calls.
cat >hello.c <<'C'
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
__attribute__((noipa)) static int greet(const char* how) { return puts(how); }
int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "exit";
  greet(how);
  fflush(stdout);
  if (!strcmp(how, "_exit")) _exit(0);
  if (!strcmp(how, "quick_exit")) quick_exit(0);
  if (!strcmp(how, "exec")) execl("/bin/true", "true", NULL);
  if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(how, "abort")) abort();
  return 0;
}
C
for link in $links; do
  turn || continue
  # shellcheck disable=SC2046
  compile "$link" hello.c -O1 $(link_flags "$link")
  rewrite "$link"
  for type in $types; do
    for how in exit _exit quick_exit exec kill abort; do
      rm -rf profiles
      mkdir profiles
      { (PROFTYPE=$type PROFDIR=profiles exec "./$link.prof" $how >stdout 2>stderr); } 2>/dev/null
      [ "$(size)" -le 65536 ] || fail "$link, $type, $how: $(size) bytes"
      calls=$(prof --json "$link.prof" profiles/prof.* 2>/dev/null | jq '[.functions[] | select(.name == "greet").calls] | add')
      [ "$calls" = 1 ] || fail "$link, $type, $how: ${calls:-no} calls of greet"
    done
  done
done

# Many: at most twice what is in use, and a step more at the beginning.
hooked lost_way
for calls in 1000 3000 10000 30000 100000 300000; do
  record lost_way none $calls _exit
  same_calls "$calls calls"
  [ "$(header folded)" = 0 ] || fail "$calls calls: $(head -n 1 profile)"
  [ "$(size)" -le $((2 * $(used) + 65536)) ] || fail "$calls calls: $(size) bytes, of which $(used) are in use"
done

# The way to the file is lost: it has got the room before, and gives it back if the way is there again.
ways=userspace
[ "$(id -u)" != 0 ] || ways="root user userspace"
for way in $ways; do
  record lost_way $way 100000 exit
  same_calls "$way"
  [ "$(header folded)" = 0 ] && [ $(($(header flags) & 2)) = 0 ] || fail "$way: $(head -n 1 profile)"
  [ "$(size)" -le 16777216 ] || fail "$way: $(size) bytes"
done
ways=self
[ "$(id -u)" != 0 ] || ways="self back"
for way in $ways; do
  record lost_way $way 100 _exit
  [ "$(size)" -le 65536 ] || fail "$way: $(size) bytes"
  record lost_way $way 600000 exit
  same_calls "$way"
  [ "$(header folded)" = 0 ] || fail "$way: $(head -n 1 profile)"
done

# Nothing that helps: what finds no room is folded, and that is said; the program does not notice.
for way in descriptors size unasked; do
  record lost_way $way 100000 exit
  same_calls "$way"
  [ "$(header folded)" -gt 0 ] && [ $(($(header flags) & 2)) = 2 ] || fail "$way: $(head -n 1 profile)"
  [ "$(size)" -le 100000 ] || fail "$way: $(size) bytes"
done

# A child of vfork that loses the way does not take it from its parent.
record lost_way vfork 100000 exit
same_calls vfork
[ "$(used)" -gt 1000000 ] || fail "vfork: $(used) bytes, $(head -n 1 profile)"

# A disk that was full and has room again: a thread that begins then is recorded.
if [ "$(id -u)" = 0 ]; then
  cat >full.sh <<'SCRIPT'
mkdir -p disk && mount -t tmpfs -o size=16m none disk || exit 99
trap 'umount disk' EXIT
PROFDIR=disk ./lost_way full 20000 $1 >stdout 2>stderr
status=$?
rm -f profiles/* && cp disk/prof.* profiles
exit $status
SCRIPT
  for left in 100 150 200 250 300; do
    unshare -m --propagation unchanged bash full.sh $left
    status=$?
    [ $status = 0 ] && [ ! -s stderr ] || fail "a disk that was full: status $status, $(cat stderr)"
    dump_profiles
    same_calls "a disk that was full but for $left KiB"
    [ "$(header folded)" -gt 0 ] && [ "$(header lost)" = 0 ] || fail "a disk that was full but for $left KiB: $(head -n 1 profile)"
  done
fi

# A profile that was removed: calls deeper than there is room for do not go looking for it one by one.
cat >removed.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hooked.h"
int down(int), leaf(int);
HOOKED(down);
HOOKED(leaf);
int leaf_body(int x) { return x; }
int down_body(int x) {
  if (x > 0) return down(x - 1) + 1;
  for (int i = 0; i < 10000; i++) leaf(i);
  return 0;
}
int main(void) {
  char line[64];
  down(3);
  if (system("rm profiles/prof.*")) return 1;
  down(5000);
  FILE* counts = fopen("/proc/self/io", "r");
  while (fgets(line, sizeof line, counts)) {
    if (!strncmp(line, "syscr: ", 7)) fputs(line, stdout);
  }
  return 0;
}
C
gcc -O1 -w -fPIC -I"$hand" -o removed removed.c "$BUILD/lib/libprof.so" -Wl,-rpath,"$BUILD/lib" || fail "cannot compile"
mkdir -p profiles
rm -f profiles/*
PROFDIR=profiles run ./removed
[ "$status" = 0 ] && [ "$(sed -n 's/^syscr: //p' stdout)" -lt 1000 ] || fail "removed: status $status, system calls that read: $(cat stdout)"

# The file has another name by now: it grows under that.
cat >moved.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include "random_calls.h"
int main(void) {
  r0(0);
  if (system("mv profiles/prof.* 'profiles/prof.of another name'")) return 1;
  for (left = 100000; left > 0;) descend(40);
  for (int i = 0; i < RANDOM_FUNCTIONS; i++) printf("calls r%d %ld\n", i, made[i]);
  return 0;
}
C
gcc -O1 -w -fPIC -I"$hand" -o moved moved.c "$BUILD/lib/libprof.so" -Wl,-rpath,"$BUILD/lib" || fail "cannot compile"
rm -rf profiles
mkdir profiles
PROFDIR=profiles run ./moved
mv "profiles/prof.of another name" profiles/prof.1
[ "$(ls profiles)" = prof.1 ] || fail "moved: leaves $(ls profiles)"
dump_profiles
same_calls moved
[ "$(header folded)" = 0 ] || fail "moved: $(head -n 1 profile)"

# The name is of another file by now: that is left alone.
cat >replaced.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include "random_calls.h"
int main(void) {
  r0(0);
  if (system("for p in profiles/prof.*; do rm $p; printf precious >precious; ln -s ../precious $p; done")) return 1;
  for (left = 100000; left > 0;) descend(40);
  return 0;
}
C
gcc -O1 -w -fPIC -I"$hand" -o replaced replaced.c "$BUILD/lib/libprof.so" -Wl,-rpath,"$BUILD/lib" || fail "cannot compile"
rm -rf profiles
mkdir profiles
PROFDIR=profiles run ./replaced
[ "$status" = 0 ] && [ ! -s stderr ] && [ "$(cat precious)" = precious ] || fail "replaced: status $status, $(cat stderr), precious is now $(stat -c %s precious) bytes"

# A program that limits its address space, or locks its memory, finds as much of it as it does without a profile; and what it
# calls afterwards is counted.
cat >limits.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
static long calls;
// A context for each way to turn left or right.
__attribute__((noipa)) static long go_left(int), go_right(int);
static long go(int depth) {
  calls++;
  return depth == 0 ? 1 : go_left(depth - 1) + go_right(depth - 1);
}
__attribute__((noipa)) static long go_left(int depth) { return go(depth) + 1; }
__attribute__((noipa)) static long go_right(int depth) { return go(depth) + 2; }
int main(int argc, char** argv) {
  const rlim_t megabyte = 1 << 20;
  long sum = go_left(3);
  if (!strcmp(argv[1], "space")) {
    const struct rlimit limit = {(rlim_t)atoi(argv[2]) * megabyte, (rlim_t)atoi(argv[2]) * megabyte};
    printf("setrlimit: %d\n", setrlimit(RLIMIT_AS, &limit));
    printf("malloc: %s\n", malloc((size_t)(atoi(argv[2]) / 2 * megabyte)) ? "ok" : "no memory");
  } else {
    struct rlimit limit;
    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur > 8 * megabyte) limit.rlim_cur = 8 * megabyte;
    setrlimit(RLIMIT_MEMLOCK, &limit);
    printf("mlockall: %d\n", mlockall(MCL_CURRENT | MCL_FUTURE));
  }
  sum += go_right(12);
  printf("sum %ld\ncalls %ld\n", sum, calls);
  return 0;
}
C
for link in $links; do
  turn || continue
  # shellcheck disable=SC2046
  compile "$link" limits.c -O1 $(link_flags "$link")
  rewrite "$link"
  for what in "space 64" "space 256" "locked"; do
    for type in time count; do
      rm -rf profiles
      mkdir profiles
      # shellcheck disable=SC2086
      setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock "./$link" $what >expected || fail "$link, $what: the original fails"
      # shellcheck disable=SC2086
      PROFTYPE=$type PROFDIR=profiles setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock "./$link.prof" $what >stdout 2>stderr ||
        fail "$link, $what, $type: status $?"
      diff expected stdout >differences || fail "$link, $what, $type: $(paste -sd ';' differences)"
      calls=$(prof --json "$link.prof" profiles/prof.* 2>/dev/null | jq '[.functions[] | select(.name == "go_left" or .name == "go_right").calls] | add')
      [ "calls $calls" = "$(tail -n 1 stdout)" ] || fail "$link, $what, $type: ${calls:-no} calls"
      [ "$(size)" -ge 524288 ] || fail "$link, $what, $type: the profile has only $(size) bytes"
    done
  done
done

# A child has room, too, where the kernel gives it memory a little below what it gave the parent: where the parent's profile was
# lies in the way of what would grow there.
cat >child.c <<'C'
#include <sys/mman.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
// Each of their calls has a context of its own.
__attribute__((noipa)) static void left(int n);
__attribute__((noipa)) static void right(int n) {
  if (n > 0) left(n - 1), right(n - 1);
}
static void left(int n) {
  if (n > 0) left(n - 1), right(n - 1);
}
int main(void) {
  left(2);
  if (fork() == 0) {
    for (int i = 0; i < 100; i++) mmap(0, 1 << 12, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    left(17);
    exit(0);
  }
  wait(0);
  return 0;
}
C
compile child child.c -O1
rewrite child --no-imports
rm -rf profiles && mkdir profiles
PROFDIR=profiles run ./child.prof
[ "$status" = 0 ] || fail "child: $status $(cat stderr)"
run prof --json child.prof profiles/prof.*
[ "$status" = 0 ] || fail "child: prof: $(cat stderr)"
found=$(jq -c '[.folded, .lost, ([.functions[] | select(.name | IN("left", "right")).calls] | add)]' stdout)
[ "$found" = '[0,0,262150]' ] || fail "child: folded, lost, calls: $found"
