# A profile that prof run left stays readable when the cache is gone, the program was built again, or is gone as well.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache

cat >own.c <<'C'
__attribute__((noipa)) static int hidden_step(int x) {
  for (int k = 0; k < 100; ++k) x = x * 31 + k;
  return x;
}
__attribute__((noipa)) int own(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += hidden_step(i);
  return sum;
}
C
# Long enough for the rate of its clock to be known, so that the same is shown each time.
cat >program.c <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int own(int n);
__attribute__((noipa)) static int work(int n) { return own(n) + 1; }
int main(int argc, char** argv) {
  if (argc > 1) {
    if (fork() == 0) {
      usleep(300000);
      return work(9) == 0;
    }
    wait(NULL);
  } else {
    usleep(300000);
  }
  return work((int)strlen(argv[0]) ? 7 : 0) == 0;
}
C
compile libown.so own.c -O1 -g -shared -fPIC -Wl,-soname,libown.so.7
ln -s libown.so libown.so.7
compile program program.c -O1 -g -L. -lown "-Wl,-rpath,$PWD"

# What a gmon.out has but for where in a function calls stand, which nobody knows without the code.
gmon_text() {
  python3 - "$1" <<'P'
import collections, struct, sys
data, at, arcs = open(sys.argv[1], "rb").read(), 20, collections.Counter()
while at < len(data):
    if data[at] == 0:
        low, high, bins = struct.unpack_from("<QQI", data, at + 1)
        print("bins", low, high, data[at + 21:at + 41 + 2 * bins].hex())
        at += 41 + 2 * bins
    else:
        _, callee, calls = struct.unpack_from("<QQI", data, at + 1)
        arcs[callee] += calls
        at += 21
print("calls", sorted(arcs.items()))
P
}

as_text() {
  local file
  for file; do gmon_text "$file" >"$file.text" && rm "$file" || return; done
}

# views FOLDER PROFILE...: all there is to see, in FOLDER.
views() {
  local to=$1
  shift
  rm -rf "$to"
  mkdir "$to"
  prof "$@" >"$to/table" 2>"$to/remarks" && prof -d "$@" >"$to/tree" 2>/dev/null && prof --json "$@" >"$to/json" &&
    prof -g "$to/gmon" "$@" 2>/dev/null && as_text "$to"/gmon* && prof --folded "$@" >"$to/folded" 2>/dev/null &&
    prof --callgrind "$to/callgrind" "$@" 2>/dev/null && prof --by-module "$@" >"$to/modules" 2>/dev/null ||
    fail "$to: $(cat "$to"/remarks)"
}
same_views() { diff -r "$1" "$2" >differences || fail "$2: $(head -n 4 differences)"; }

# left OPTION... -- ARGUMENT...: runs the program, and compares what is seen with the cache and without.
left() {
  local options=()
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  shift
  rm -rf cache prof.* with without
  run prof run --type time "${options[@]}" ./program "$@"
  [ "$status" = 0 ] || fail "${options[*]} $*: $(cat stderr)"
  views with prof.*
  mv cache away
  views without prof.*
  mv away cache
  same_views with without
  ! grep -q . without/remarks || fail "${options[*]} $*: $(cat without/remarks)"
}
left --
has_row 1 'own' with/table && has_row 1 work with/table || fail "$(cat with/table)"
left -- fork
[ "$(find . -maxdepth 1 -name 'prof.*[0-9]' | wc -l)" = 2 ] && has_row 2 work with/table || fail "two: $(cat with/table)"
left '--libs=libown*' --
has_row 7 'hidden_step \[libown.so.7\]' without/table || fail "libs: $(cat without/table)"
left '--libs=libown*' -- fork
has_row 16 'hidden_step \[libown.so.7\]' without/table || fail "libs, two: $(cat without/table)"
[ "$(prof --processes 2>/dev/null | grep -c hidden_step)" = 2 ] || fail "processes: $(prof --processes 2>&1)"

# Without hooks, and with samples.
rm -rf cache prof.*
run prof run ./program
prof prof.* >with.table 2>with.remarks && mv cache away && prof prof.* >without.table 2>without.remarks || fail "samples: $(cat with.remarks without.remarks)"
mv away cache
rm prof.*
# A second run appends what the first one packed.
run prof run ./program
mv cache away
prof prof.* >again.table 2>again.remarks && has_row 1 work again.table || fail "second run: $(cat again.table again.remarks)"
mv away cache
cmp -s with.table without.table && cmp -s with.remarks without.remarks && has_row 1 work with.table || fail "samples: $(diff with.table without.table; diff with.remarks without.remarks)"
left '--libs=libown*' -- fork

# By its program, too; which has the debug information.
rm -rf cache
run prof ./program
[ "$status" = 0 ] && has_row '.*' 'hidden_step \[libown.so.7\]' stdout || fail "by program: $(cat stdout stderr)"
run prof --inlined prof.*
grep -q 'program: its debug information is gone with /.*/program; name the program: prof --inlined PROGRAM PROFILE$' stderr ||
  fail "inlined: $(cat stderr)"
run prof --inlined ./program prof.*
! grep -q 'program: its debug' stderr && grep -q 'program.c:6' stdout || fail "inlined: $(cat stdout stderr)"

# The program was built again, and is gone.
cp program kept
sed 's,work,werk,g' program.c >other.c
compile program other.c -O1 -L. -lown "-Wl,-rpath,$PWD"
mv kept old
views again prof.*
same_views without again
run prof ./program prof.*
[ "$status" = 1 ] && grep -q ': is not the original of /.*: its build-id is .*, the original has .*; name the file that profld rewrote$' stderr || fail "rebuilt: $(cat stderr)"
rm program libown.so*
views again prof.*
same_views without again

# What was appended is damaged, or cut off: as if it was not there.
field() { od -An -tu4 -j "$2" -N 4 "$1" | tr -d ' '; }
mkdir damaged && cp prof.* damaged && cd damaged || exit 1
for profile in prof.*; do
  first=$(($(field "$profile" 272) * 64))
  [ "$first" -ge $(($(field "$profile" 44) * 64)) ] || fail "$profile: first_skeleton $first"
  cp "$profile" whole
  printf 'damage' | dd of="$profile" bs=1 seek=$((first + 100)) conv=notrunc 2>/dev/null
  run prof "$profile"
  [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] &&
    grep -q "^prof: /.*/program: No such file or directory, and what $profile has of it is damaged; if the " stderr || fail "damaged: $(cat stderr)"
  head -c $((first + 100)) whole >"$profile"
  run prof "$profile"
  [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q '^prof: /.*/program: No such file or directory; if the ' stderr ||
    fail "cut off: $(cat stderr)"
  rm "$profile"
done
cd .. || exit 1

# A child that goes on when the program has ended has its profile for itself.
cat >daemon.c <<'C'
#include <fcntl.h>
#include <unistd.h>
static volatile int sum;
__attribute__((noipa)) static void work(void) { ++sum; }
int main(int argc, char** argv) {
  int ready[2];
  char byte = 0;
  pipe(ready);
  work();
  if (fork() == 0) {
    int end = open(argv[1], O_RDONLY | O_NONBLOCK);
    work();
    write(ready[1], "", 1);
    close(0), close(1), close(2);
    fcntl(end, F_SETFL, 0);
    do usleep(1000); while (read(end, &byte, 1) != 1);
    for (int i = 0; i < 99; ++i) work();
    return 0;
  }
  return read(ready[0], &byte, 1) != 1;
}
C
compile daemon daemon.c -O1
rm -rf prof.* && mkfifo end
run prof run ./daemon end
[ "$status" = 0 ] || fail "daemon: $(cat stderr)"
appended() { [ "$(field "$1" 272)" != 0 ]; }
for p in prof.*[0-9]; do if [ -d "/proc/$(field "$p" 32)" ]; then child=$p; else ended=$p; fi; done
[ -n "$child" ] && ! appended "$child" || fail "daemon: something was appended"
appended "$ended" || fail "daemon: nothing was appended to the profile of the first process"
printf x >end
while [ -d "/proc/$(field "$child" 32)" ]; do sleep 0.01; done
run prof "$child"
has_row 100 work || fail "daemon: $(cat stdout stderr)"
