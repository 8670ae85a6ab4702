# What prof shows of rewritten libraries: names with their modules, sums by module, files for gprof, and one library in
# several places.
. "${0%/*}/../common.inc"

cat >work.c <<'C'
#define KEPT __attribute__((noipa))
KEPT static int step(int n) {
  volatile int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += i ^ n;
  return sum;
}
KEPT int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += step(i);
  return sum;
}
KEPT int each(int (*function)(int), int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += function(i);
  return sum;
}
// Names that nobody would use, and one of an old version.
int __libwork_each(int (*)(int), int) __attribute__((alias("each")));
int a_each(int (*)(int), int) __attribute__((alias("each")));
__asm__(".symver a_each, a_each@OLD");
C
echo 'OLD { global: a_each; }; NEW { global: *; } OLD;' >versions
cat >host.c <<'C'
#include <stdlib.h>
int work(int n), each(int (*)(int), int n);
__attribute__((noipa)) int called(int n) { return work(n); }
int main(int argc, char** argv) {
  int sum = 0;
  for (volatile int i = 0; i < 200000; ++i) {}  // what hooks cost is small beside it, so its share is known
  for (int i = 0; i < (argc > 2 ? 30000 : 10) || argc > 3; i = (i + 1) & 0xffff) sum += work(2);
  sum += each(called, 5);
  return sum == -1 || (argc > 1 && getenv(argv[1]));
}
C
mkdir plain copy stripped
compile plain/libwork.so.3 work.c -O1 -shared -fPIC -Wl,-soname,libwork.so.3 -Wl,--version-script=versions
compile host host.c -O1 plain/libwork.so.3
strip -o stripped/libwork.so.3 plain/libwork.so.3
profld --all -o copy/libwork.so.3 plain/libwork.so.3
profld -o host.prof host

# loaded FOLDER PROGRAM: a new profile, named $profile, of the program with the library in that folder.
loaded() {
  rm -rf profiles && mkdir profiles
  PROFDIR=$PWD/profiles LD_LIBRARY_PATH=$1 run "./$2" word
  profile=$(echo profiles/prof.*)
  [ "$status" = 0 ] && [ -f "$profile" ] || fail "$2 with $1: $status, $profile, $(cat stderr)"
}

# Names: the soname after those of the library, nothing after the program's own and those of its imports; of several the one
# that a person would use.
loaded copy host.prof
run prof "$profile"
[ "$status" = 0 ] || fail "flat: $(cat stderr)"
for row in '15 work [libwork.so.3]' '30 step [libwork.so.3]' '1 each [libwork.so.3]' '5 called' '1 main' '1 getenv'; do
  has_row "${row%% *}" "\Q${row#* }\E" || fail "flat: no $row in $(cat stdout)"
done
run prof -d "$profile"
grep -qP 'work \[libwork.so.3\]:[-0-9.]+/10( |$)' stdout && grep -qP '\tcalled:[-0-9.]+/5( |$)' stdout || fail "tree: $(cat stdout)"

# JSON: addresses are those of nm, the module is the file that ran, with the original's build-id.
prof --json "$profile" >json
address=$(nm plain/libwork.so.3 | sed -n 's/^0*\([0-9a-f]*\) t step$/0x\1/p')
id=$(readelf -n plain/libwork.so.3 | sed -n 's/.*Build ID: //p')
jq -e --arg address "$address" --arg id "$id" --arg path "$PWD/copy/libwork.so.3" '
  (.functions[] | select(.name == "step")) as $step | $step.module == "libwork.so.3" and $step.address == $address and
  (.modules[] | select(.name == "libwork.so.3") | .path == $path and .build_id == $id and .rewritten and .functions == 3 and .calls == 46) and
  .modules[0].name == "host" and (.modules[0].calls == 6)' json >/dev/null || fail "--json: $(cat json)"

# By module: each once, with the sums; percentages of all.
run prof --by-module "$profile"
grep -qP ' 46 +3\tlibwork.so.3$' stdout && grep -qP ' 6 +2\thost$' stdout && grep -qP '\t\[libraries\]$' stdout || fail "--by-module: $(cat stdout stderr)"
column % '' | tr -d '~' | awk '{ sum += $1 } END { exit !(sum > 99 && sum < 101) }' || fail "--by-module: $(cat stdout)"
prof "$profile" | exact - | grep -F '[libwork.so.3]' | sort >of_library
run prof --module 'libw*' "$profile"
exact | sort | cmp -s - of_library && [ -s of_library ] || fail "--module: $(cat stdout)"
run prof -d --module 'libw*' "$profile"
grep -q '\[libwork' stdout && grep -q called stdout && ! grep -q getenv stdout || fail "-d --module: $(cat stdout)"
run prof --module nothing "$profile"
[ "$status" = 1 ] && [ ! -s stdout ] && grep -q 'no module matches; there are host, .*libwork.so.3' stderr || fail "--module nothing: $(cat stderr)"
for options in "-d --by-module" "-g gmon.out --module x" "--suggest --module x"; do
  # shellcheck disable=SC2086
  run prof $options "$profile"
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] || fail "$options: $status $(cat stderr)"
done

# gprof: a file for each, with the same calls; of a library without symbols by the names that prof writes.
run prof -g gmon.out --gprof-symbols names "$profile"
[ "$status" = 0 ] && grep -q 'what libraries did is in gmon.out.libwork.so.3$' stderr || fail "-g: $status $(cat stderr)"
# calls_by_gprof NAME ARGUMENT...: as its table has them.
calls_by_gprof() { gprof -b -p "${@:2}" 2>gprof.log | awk -v name="$1" '$NF == name { print $4 }'; }
for pair in "work 15" "step 30"; do
  read -r function calls <<<"$pair"
  for arguments in "plain/libwork.so.3" "-S names.libwork.so.3 stripped/libwork.so.3"; do
    # shellcheck disable=SC2086
    found=$(calls_by_gprof "$function" $arguments gmon.out.libwork.so.3)
    [ "$found" = "$calls" ] || fail "gprof $arguments: $function was called $found times; $(cat gprof.log)"
  done
done
[ "$(calls_by_gprof called host gmon.out)" = 5 ] || fail "gprof host: $(cat gprof.log)"
gprof -b -q -S names.libwork.so.3 stripped/libwork.so.3 gmon.out.libwork.so.3 | grep -qP '1/1 +<spontaneous> \[\d+\]' ||
  fail "gprof -S: the library is not called from <spontaneous>"

# Two processes, which have it in different places: one function.
mv "$profile" first
loaded copy host.prof
run prof --json first "$profile"
[ "$(jq -c '[.functions[] | select(.name == "step") | .calls]' stdout)" = '[60]' ] || fail "two profiles: $(cat stdout stderr)"

# A program that was not rewritten.
loaded copy host
run prof "$profile"
[ "$status" = 0 ] && [ "$(grep -c ^prof: stderr)" = 1 ] && grep -q "the program itself was not rewritten" stderr || fail "host: $status $(cat stderr)"
has_row 30 'step \[libwork.so.3\]' && ! grep -q called stdout || fail "host: $(cat stdout)"
prof --json "$profile" | jq -e '.modules[0].name == "host" and (.modules[0].rewritten | not)' >/dev/null || fail "host: $(prof --json "$profile")"

# Samples of the program as it is, with the library as it is: they are of the functions whose calls the profile has.
loaded copy host.prof
LD_LIBRARY_PATH=plain run prof run --true ./host word long
[ -f prof.samples ] || fail "--true: no samples; $(cat stderr)"
rm -f prof.[0-9]*
run prof --json --true prof.samples host.prof "$profile"
[ "$status" = 0 ] && jq -e '[.functions[] | select(.name == "step")] | length == 1 and .[0].calls == 30 and .[0].samples > 0 and
  .[0].counted and .[0].module == "libwork.so.3"' stdout >/dev/null || fail "--true: $status $(cat stderr stdout)"

# The file is gone: its functions are addresses, and that is said once.
loaded copy host.prof
mv copy/libwork.so.3 away
run prof "$profile"
[ "$status" = 0 ] && [ "$(grep -c ^prof: stderr)" = 1 ] && grep -q "copy/libwork.so.3: No such file" stderr || fail "gone: $status $(cat stderr)"
has_row 30 'libwork.so.3\+0x[0-9a-f]+' || fail "gone: $(cat stdout)"
mv away copy/libwork.so.3

# While it runs, too: prof top shows the library, and says once that it is gone.
rm -rf profiles && mkdir profiles
{ PROFDIR=$PWD/profiles LD_LIBRARY_PATH=copy exec ./host.prof word long "for ever"; } &
pid=$!
disown # no word about its end
trap 'kill -9 $pid 2>/dev/null' EXIT
until [ -s "profiles/prof.$pid" ] && prof "profiles/prof.$pid" 2>/dev/null | grep -q work; do
  kill -0 $pid || fail "the program ended"
  sleep 0.1
done
prof top -i 0.2 "profiles/prof.$pid" 2>stderr | sed '/\tstep \[libwork.so.3\]$/q' >stdout # until it was seen to run
[ ! -s stderr ] && grep -qP '\tstep \[libwork.so.3\]$' stdout || fail "top: $(cat stdout stderr)"
mv copy/libwork.so.3 away
run prof top -n 3 -i 0.1 "profiles/prof.$pid"
[ "$status" = 0 ] && [ "$(grep -c "No such file" stderr)" = 1 ] || fail "top: $status $(cat stderr)"
mv away copy/libwork.so.3
kill -9 $pid

# Plugins that lie in one place, one after the other.
cat >plugin.c <<'C'
__attribute__((noipa)) int NAME(int n) {
  volatile int sum = 0;
  for (int i = 0; i < 20; ++i) sum += i ^ n;
  return sum;
}
C
cat >plugins.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void* first = 0;
  for (int i = 0; i < 6; ++i) {
    void* plugin = dlopen(i % 2 ? "./two.so" : "./one.so", RTLD_NOW);
    int (*function)(int) = plugin ? (int (*)(int))dlsym(plugin, i % 2 ? "two" : "one") : 0;
    if (!function) return 1;
    for (int j = 0; j <= i; ++j) function(j);
    if (i == 0) first = (void*)function;
    if (i == 1) puts(first == (void*)function ? "same place" : "other place");
    dlclose(plugin);
  }
  return 0;
}
C
for plugin in one two; do
  compile $plugin.plain plugin.c -O1 -shared -fPIC -DNAME=$plugin
  profld --all -o $plugin.so $plugin.plain
done
compile plugins plugins.c -O1
profld -o plugins.prof plugins
loaded . plugins.prof
[ "$(cat stdout)" = "same place" ] || fail "plugins: $(cat stdout)"
run prof "$profile"
[ "$status" = 0 ] && [ "$(grep -c '\.so\]$' stdout)" = 2 ] && has_row 9 'one \[one.so\]' && has_row 12 'two \[two.so\]' ||
  fail "plugins: $(cat stdout stderr)"
