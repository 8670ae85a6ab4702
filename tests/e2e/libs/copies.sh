# prof run --libs: when copies of libraries are made, and that none is used for another library than the one it is of.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache
cat >library.c <<'C'
__attribute__((noipa)) int LOOP(int n) {
  volatile int sum = 0;
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}
int FUNCTION(int n) { return LOOP(n) + RESULT; }
C
cat >program.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int linked(int);
int main(int argc, char** argv) {
  printf("%d\n", linked(3));
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
  if (plugin) printf("plugin %d\n", ((int (*)(int))dlsym(plugin, "plugin"))(4));
  fflush(stdout);
  if (argc > 2) system(argv[2]);
  if (argc > 2) printf("plugin %d\n", ((int (*)(int))dlsym(dlopen(argv[3], RTLD_NOW), "plugin"))(4));
  return 0;
}
C
compile first.so library.c -DFUNCTION=linked -DLOOP=one -DRESULT=100 -shared -fPIC -Wl,-soname,liblinked.so
compile second.so library.c -DFUNCTION=linked -DLOOP=two -DRESULT=200 -shared -fPIC -Wl,-soname,liblinked.so
compile plugin.so library.c -DFUNCTION=plugin -DLOOP=three -DRESULT=300 -shared -fPIC
touch -d '2020-01-01' first.so second.so
cp -p first.so liblinked.so
compile program program.c liblinked.so "-Wl,-rpath,$PWD"

# check RESULT LOOP: what the program now gives, and which function its profile shows.
check() {
  run prof run --libs ./program
  [ "$(cat stdout)" = "$1" ] && grep -qP "\t$2( |\$)" stderr || fail "not $1 $2: $(cat stdout stderr)"
}
check 103 one
root=$(echo cache/prof/*/root)
# Replaced, as by an upgrade: also by something as long and as old.
cp -p --remove-destination second.so liblinked.so
[ "$("$root/.program$PWD/program")" = 203 ] || fail "an old copy of a new library is used"
check 203 two
cat first.so >liblinked.so
[ "$("$root/.program$PWD/program")" = 103 ] || fail "an old copy of a library that was written to is used"
check 103 one
cat second.so >liblinked.so
touch -r first.so liblinked.so
check 203 two
cat first.so >liblinked.so
check 103 one
cat second.so >liblinked.so
touch -r first.so liblinked.so
[ "$("$root/.program$PWD/program")" = 203 ] || fail "a copy of what a library was before is used"

# A plugin has no copy the first time, and that is said; then it has.
run prof run --libs ./program "$PWD/plugin.so"
[ "$(cat stdout)" = $'203\nplugin 306' ] && grep -q '^prof: 1 library .*: plugin.so$' stderr && ! grep -q three stderr || fail "new plugin: $(cat stdout stderr)"
run prof run --libs ./program "$PWD/plugin.so"
[ "$(cat stdout)" = $'203\nplugin 306' ] && ! grep -q '^prof: 1 library' stderr && grep -qP '\tthree( |$)' stderr || fail "known plugin: $(cat stdout stderr)"
[ "$(tr "\\0" "\\n" <"$root/.seen" | sort | uniq -d)" = "" ] || fail "twice in the list: $(cat "$root/.seen")"
cp plugin.so unwanted.so
run prof run --libs='libl*' ./program "$PWD/unwanted.so"
[ "$(cat stdout)" = $'203\nplugin 306' ] && ! grep -q 'unwanted' stderr || fail "unwanted plugin: $(cat stdout stderr)"
cp plugin.so gone.so
run prof run --libs ./program "$PWD/gone.so"
grep -q ': gone.so$' stderr || fail "another plugin: $(cat stderr)"
rm gone.so
run prof run --libs ./program "$PWD/plugin.so"
[ "$(cat stdout)" = $'203\nplugin 306' ] && ! grep -q gone stderr || fail "plugin that is gone: $(cat stdout stderr)"

# A library that comes while the program runs.
run prof run --libs ./program "$PWD/none.so" "cp plugin.so later.so" ./later.so
[ "$(cat stdout)" = $'203\nplugin 306' ] && grep -q ': later.so$' stderr || fail "a library made meanwhile: $(cat stdout stderr)"
run prof run --libs ./program "$PWD/plugin.so" "cat second.so >later.so; cp --remove-destination plugin.so later.so" ./later.so
[ "$(cat stdout)" = $'203\nplugin 306\nplugin 306' ] || fail "a library replaced meanwhile: $(cat stdout stderr)"

# Nothing can be noted: the program does not notice.
cp plugin.so unnoted.so
(ulimit -f 0 && exec "$root/.program$PWD/program" "$PWD/unnoted.so") 2>&1 | cat >stdout
[ "${PIPESTATUS[0]}" = 0 ] && grep -q 'plugin 306' stdout || fail "at a file size limit: $(cat stdout)"
mv "$root/.seen" seen && mkdir "$root/.seen"
[ "$("$root/.program$PWD/program" "$PWD/unnoted.so" 2>&1 | tail -n 1)" = "plugin 306" ] || fail "nothing to write to"
rmdir "$root/.seen" && mv seen "$root/.seen"

# Several at once, from an empty cache; and what profld refuses is used as it is, and said once.
profld -o rewritten.so plugin.so || fail "profld"
mkdir at-once
for ((i = 0; i < 4; ++i)); do XDG_CACHE_HOME=$PWD/cache2 PROFDIR=at-once prof run --libs ./program "$PWD/rewritten.so" >out.$i 2>err.$i & done
wait
for ((i = 0; i < 4; ++i)); do [ "$(cat out.$i)" = $'203\nplugin 306' ] || fail "at once: $(cat out.$i err.$i)"; done
[ -z "$(find cache2 -name '*.[0-9][0-9]*' ! -name '*.so.*' -type f)" ] || fail "left behind: $(find cache2 -type f)"
export XDG_CACHE_HOME=$PWD/cache2
run prof run --libs ./program "$PWD/rewritten.so"
[ "$(cat stdout)" = $'203\nplugin 306' ] && [ "$(grep -c '^profld: .*rewritten.so: already rewritten' stderr)" = 1 ] || fail "refused: $(cat stdout stderr)"
run prof run --libs ./program "$PWD/rewritten.so"
[ "$(cat stdout)" = $'203\nplugin 306' ] && ! grep -q '^profld' stderr && ! grep -q '^prof: 1 lib' stderr || fail "refused again: $(cat stdout stderr)"

# Two files of the same library, which are rewritten at the same time and have one copy in the cache.
echo 'const char large[5000000] = {1};' | cat library.c - >large.c
mkdir here there
compile here/libtwice.so large.c -DFUNCTION=linked -DLOOP=four -DRESULT=400 -shared -fPIC
cp -a here/libtwice.so there
compile twice program.c -Wl,--no-as-needed here/libtwice.so there/libtwice.so
for ((i = 0; i < 4; ++i)); do
  rm -rf cache3
  XDG_CACHE_HOME=$PWD/cache3 run prof run --libs ./twice
  [ "$(cat stdout)" = 403 ] || fail "the same library twice: $(head -n 3 stdout stderr)"
  ! grep -E 'No such file|had no copy' stderr || fail "the same library twice: $(grep ^prof: stderr)"
done
exit 0
