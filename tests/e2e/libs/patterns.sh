# prof run --libs -F: a pattern is of the program and its libraries taken together, of whichever has the function.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache

cat >library.c <<'C'
__attribute__((noipa)) static int crunch_library(int n) {
  volatile int sum = 0;
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}
int in_library(int n) { return crunch_library(n) + crunch_library(2); }
C
cat >program.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int in_library(int n);
__attribute__((noipa)) static int in_program(int n) { return in_library(n) + 1; }
int main(int argc, char** argv) {
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
  if (plugin) printf("%d\n", ((int (*)(int))dlsym(plugin, "in_plugin"))(5));
  printf("%d %zu\n", in_program(3), strlen(argv[0]));
  return 3;
}
C
compile libown.so library.c -O1 -shared -fPIC
compile plugin.so library.c -Din_library=in_plugin -Dcrunch_library=crunch_plugin -O1 -shared -fPIC
compile program program.c -O1 -L. -lown "-Wl,-rpath,$PWD"
expected=$(./program)

# shows NAMES OPTION...: prof run runs the program, says no more than where the profile is, and has these functions in its table.
shows() {
  local names=$1
  shift
  run prof run "$@" ./program
  [ "$status" = 3 ] && [ "$(cat stdout)" = "$expected" ] || fail "$*: $status $(cat stdout stderr)"
  [ "$(exact stderr | cut -f 2 | sed 's/ .*//' | sort | xargs)" = "$names" ] || fail "$*: not $names: $(cat stderr)"
  [ "$(messages_of_prof stderr)" = 1 ] || fail "$*: says $(grep '^prof' stderr)"
}
shows crunch_library --libs -F crunch_library
shows crunch_library --libs -F crunch_library # from the cache
shows crunch_library --libs='libown*' -F crunch_library
shows crunch_library --libs-only=libown.so -F 'crunch_*'
shows "in_library in_program" --libs -F in_program -F in_library
shows in_program --libs -F 'in_*' -N in_library
shows "crunch_library main strlen" --libs -F crunch_library -F strlen -F main # the last where main calls it
shows crunch_library --libs --min-size 30 -N 'in_*' -N main -F crunch_library
has_row 2 'crunch_library.*' stderr || fail "other calls: $(cat stderr)"

# What is in none is said once, with what may be meant, from wherever that is.
run prof run --libs -F crunch_libary -F in_program -N in_libary ./program
[ "$status" = 3 ] && [ "$(cat stdout)" = "$expected" ] && has_row 1 in_program stderr || fail "one in none: $status $(cat stderr)"
[ "$(grep '^prof' stderr | grep -v 'the profile is\|: hooks took')" = "prof: ./program: -F crunch_libary: matches no function; did you mean crunch_library?
prof: ./program: -N in_libary: matches no function; did you mean in_library?" ] || fail "one in none: $(cat stderr)"
refused() {
  local words=$1
  shift
  for time in first second; do
    run prof run "$@" ./program
    [ "$status" = 1 ] && [ ! -s stdout ] && [ "$(cat stderr)" = "prof: ./program: $words" ] || fail "$*: $status $(cat stdout stderr)"
  done
}
refused "-F chooses no function of it or its libraries (-F crunch_libary: matches no function; did you mean crunch_library?)" \
  --libs -F crunch_libary
refused "-F chooses no function of it or its libraries (what it matches is profiled where one that it matches calls it)" --libs -F strlen
refused "-F chooses no function of its libraries (-F in_progam: matches no function)" --libs-only=libown.so -F in_progam
refused "-F chooses no function of its libraries (-F main: matches no function)" --libs-only=libown.so -F main

# Without --libs, where the libraries have what is meant.
for time in first second; do
  run prof run -F no_such_function -F crunch_library ./program
  [ "$status" = 1 ] && [ ! -s stdout ] && grep -q '^profld: ./program: no function matches' stderr &&
    [ "$(tail -n 1 stderr)" = "prof: ./program: -F crunch_library matches a function of libown.so; --libs profiles libraries, too" ] || fail "without --libs: $status $(cat stdout stderr)"
done
run prof run -F no_such_function ./program
[ "$status" = 1 ] && ! grep -q '^prof: ' stderr || fail "without --libs, in none: $status $(cat stdout stderr)"

# Names of a stripped program and a stripped library, by their debug files.
for file in program libown.so; do
  objcopy --only-keep-debug $file $file.debug && strip $file && objcopy --add-gnu-debuglink=$file.debug $file || fail "objcopy $file"
done
shows crunch_library --libs -F crunch_library
run prof run --libs -F crunch_libary ./program
grep -q 'did you mean crunch_library?' stderr || fail "stripped: $(cat stderr)"
rm program.debug libown.so.debug
function=$(jq -r '.functions[] | select(.calls == 2 and .module == "libown.so") | .name' <(prof run --libs --json ./program 2>&1 >/dev/null | grep -v '^prof'))
[[ $function == \#* ]] || fail "stripped: no function with two calls: $function"
run prof run --libs -F "$function" ./program
[ "$status" = 3 ] && has_row 2 "$function.*" stderr || fail "stripped: $status $(cat stderr)"
grep -q '^prof: libown.so: .*stripped' stderr || fail "no remark: $(cat stderr)"

# A library that the program opens while it runs may have what no other has.
for expected_names in "" in_plugin; do
  run prof run --libs=plugin.so -F in_plugin ./program ./plugin.so
  [ "$status" = 3 ] && [ "$(exact stderr | cut -f 2 | sed 's/ .*//')" = "$expected_names" ] || fail "a plugin: $status $(cat stderr)"
done

# profld's exit status tells files with nothing to rewrite from those that it cannot rewrite.
compile data.so -x c /dev/null -shared -fPIC -nostdlib
run profld -o copy data.so
[ "$status" = 3 ] && [ ! -e copy ] || fail "data only: $status $(cat stderr)"
run profld -o copy -F nothing program
[ "$status" = 3 ] && [ ! -e copy ] || fail "nothing chosen: $status $(cat stderr)"
profld -o program.prof program || fail "profld program"
run profld -o copy program.prof
[ "$status" = 1 ] && [ ! -e copy ] || fail "rewritten already: $status $(cat stderr)"
exit 0
