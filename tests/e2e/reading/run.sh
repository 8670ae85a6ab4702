# prof run: one command, and to the outside it looks like the program itself.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache
unset tabstop

cat >program.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t got;
static void handler(int s) { got = s; }
__attribute__((noipa)) int work(int n) { return n * 3; }
__attribute__((noipa)) int other(int n) { return n + 1; }
int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  int sum = 0;
  for (int i = 0; i < 7; ++i) sum += work(i) + other(i);
  if (!strcmp(what, "echo")) {
    printf("%s", argv[0]);
    for (int i = 1; i < argc; ++i) printf(" [%s]", argv[i]);
    puts("");
    for (int c; (c = getchar()) != EOF;) putchar(c);
  } else if (!strcmp(what, "exit")) {
    exit(atoi(argv[2]));
  } else if (!strcmp(what, "kill")) {
    raise(atoi(argv[2]));
  } else if (!strcmp(what, "wait")) {
    signal(SIGTERM, handler);
    puts("ready");
    fflush(stdout);
    while (!got) pause();
    printf("got %d\n", got);
    return 5;
  }
  return sum == -1;
}
C
compile program program.c -O1

# Output, arguments, standard input and the name are the program's own; the profile goes to standard error.
run prof run ./program exit 0
[ "$status" = 0 ] && [ ! -s stdout ] || fail "exit 0: $status $(cat stderr)"
grep -qxE 'program, prof\.[0-9]*, (times from samples|no hooks, .*)' stderr && grep -qP '^ +(% +Self +\+/- +(Total +)?)?Calls( +Per-call)?\tName$' <(grep Name stderr) && has_row 7 'work' stderr ||
  fail "no table: $(cat stderr)"
profile=$(tail -n 1 stderr | grep -oE 'prof\.[0-9.]*[0-9]' | head -n 1) && [ -s "$profile" ] || fail "no profile named: $(tail -n 1 stderr)"
prof "$profile" >again 2>&1 || fail "prof $profile: $(cat again)"
[ "$(exact again | sort)" = "$(exact stderr | sort)" ] || fail "other table: $(cat again)"
echo "standard input" | prof run -- ./program echo -d "two words" '' >stdout 2>stderr || fail "echo: $(cat stderr)"
[ "$(cat stdout)" = $'./program [echo] [-d] [two words] []\nstandard input' ] || fail "echo: $(cat stdout)"
run prof run ./program exit 37
[ "$status" = 37 ] || fail "exit 37: $status"
(PATH=$PWD:$PATH && run prof run program echo && [ "$(cat stdout)" = "program [echo]" ]) || fail "PATH: $(cat stdout stderr)"

# With hooks.
run prof run --type time ./program exit 0
head -n 1 stderr | grep -qx 'program, prof\.[0-9]*, PROFTYPE=time' && grep -qP '^ +% +Self +Waiting +Total +Calls +Per-call\tName$' stderr && has_row 7 'work' stderr || fail "no table: $(cat stderr)"

# Killed by a signal: so are we.
for signal in 15 9 6; do
  { (exec prof run ./program kill $signal >stdout 2>stderr); } 2>/dev/null
  [ $? = $((128 + signal)) ] && has_row 7 'work' stderr || fail "kill $signal: $? $(cat stderr)"
done

# A signal sent to us reaches the program.
prof run ./program wait >stdout 2>stderr &
until grep -q ready stdout; do kill -0 $! || fail "no program: $(cat stderr)"; sleep .05; done
kill -TERM $!
wait $!
status=$?
[ "$status" = 5 ] && grep -q "got 15" stdout || fail "SIGTERM: $status $(cat stdout stderr)"

# Views and files.
run prof run --type time -d ./program exit 0
grep -qE '(^|[ 	])main:[0-9.-]+( waiting [0-9.-]+)?$' stderr && grep -qE 'work:[0-9.-]+/7( waiting [0-9.-]+)?$' stderr || fail "-d: $(cat stderr)"
run prof run --json ./program exit 0
sed '$d' stderr | jq -e '.complete and any(.functions[]; .name == "work" and .calls == 7)' >/dev/null || fail "--json: $(cat stderr)"
run prof run -g gmon.out ./program exit 0
gprof -b -p program gmon.out 2>gprof.log | grep -qE ' 7 .* work$' || fail "-g: $(cat stderr gprof.log)"

# The cache: used again, made anew for another program or other options.
copies() { find "${1:-cache}" -type f ! -name '*.kept' | wc -l; } # each may have beside it what profiles keep of it
[ "$(copies)" = 2 ] || fail "cache: $(find cache)"
run prof run -N other ./program exit 0
grep -q work stderr && ! grep -q other stderr || fail "-N: $(cat stderr)"
[ "$(copies)" = 3 ] || fail "cache: $(find cache)"
run prof run -F 'ma*' --report report ./program exit 0
has_row 1 'main' stderr && ! grep -q work stderr && jq -e .functions_total report >/dev/null || fail "-F --report: $(cat stderr)"
sed -i 's/i < 7/i < 8/' program.c
compile program program.c -O1
run prof run ./program exit 0
has_row 8 'work' stderr || fail "program changed: $(cat stderr)"
mkdir profiles
PROFDIR=profiles run prof run ./program exit 0
tail -n 1 stderr | grep -q profiles/prof. && ls profiles/prof.* >/dev/null || fail "PROFDIR: $(cat stderr)"
for ((i = 0; i < 4; ++i)); do XDG_CACHE_HOME=$PWD/cache2 prof run ./program exit 0 2>parallel.$i & done
wait
for ((i = 0; i < 4; ++i)); do has_row 8 'work' parallel.$i || fail "at once: $(cat parallel.$i)"; done
[ "$(copies cache2)" = 1 ] && [ "$(find cache2 -name "*.kept*" | wc -l)" = 1 ] || fail "at once: $(find cache2)"

# Its basic blocks counted, or written down one after the other.
compile lines program.c -O0 -g
run prof run -b --annotate --function work ./lines exit 0
grep -Eq '^ +8 +8 .*work\(int n\)' stderr || fail "-b: $(cat stderr)"
run prof run --blocks --disassemble work ./lines exit 0
grep -Eq '^ +8 .*ret' stderr || fail "--blocks: $(cat stderr)"
PROFDIR=profiles run prof run --trace ./program exit 5
trace=$(sed -n 's/^prof: the trace is \(profiles\/trace\.[0-9]*\); prof istat .*/\1/p' stderr)
[ "$status" = 5 ] && [ -s "$trace" ] && prof istat "$trace" >stdout && grep -Eqm1 '^[0-9]+ instructions' stdout || fail "--trace: $status $(cat stderr)"
for wrong in "--trace --libs" "--trace --libs-all" "--trace --true" "-b --trace"; do
  # shellcheck disable=SC2086 # two options
  run prof run $wrong ./program exit 0
  [ "$status" = 2 ] && [ ! -s stdout ] && [ "$(wc -l <stderr)" = 1 ] && grep -q -- "${wrong% *}" stderr || fail "$wrong: $status $(cat stderr)"
done
run prof run --discover ./program exit 0
has_row 8 'work' stderr || fail "--discover: $(cat stderr)"

# A script of rbenv, pyenv or the like, which chooses one of several versions of a program.
mkdir -p shims versions/2
cp program versions/2/chosen
printf '#!/bin/sh\n[ "$1 $2" = "which chosen" ] && echo "$SOME_ROOT/versions/2/chosen"\n' >some-env
printf '#!/usr/bin/env bash\nset -e\n\nprogram="${0##*/}"\n\nexport SOME_ROOT="%s"\nexec "%s/some-env" exec "$program" "$@"\n' "$PWD" "$PWD" >shims/chosen
chmod +x some-env shims/chosen
cp shims/chosen shims/missing
PATH=$PWD/shims:$PATH run prof run chosen echo "two words"
[ "$status" = 0 ] && [ "$(cat stdout)" = "chosen [echo] [two words]" ] && has_row 8 work stderr || fail "a shim: $status $(cat stdout stderr)"
PATH=$PWD/shims:$PATH run prof run missing
[ "$status" = 1 ] && grep -q 'shims/missing: is a script; ' stderr || fail "a shim of nothing: $status $(cat stderr)"

# What cannot be run is refused in one line.
refused() {
  local words=$1
  shift
  run prof run "$@"
  [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] && grep -qF "$words" stderr || fail "prof run $*: $status $(cat stderr)"
}
printf '#!/bin/sh -e\necho\n' >script
refused "not executable" ./script
chmod +x script
refused "prof run -- /bin/sh -e ./script" ./script
refused "not in PATH" no-such-program
refused "program: is not in PATH; did you mean ./program?" program
refused "No such file" ./no-such-program
refused "directory" ./cache
cp /etc/hosts text && chmod +x text
refused "profld: " ./text
before=$(find cache | wc -l)
refused "profld: " ./text
[ "$(find cache | wc -l)" = "$before" ] || fail "a refused program left $(find cache)"

# What looks for libraries beside itself finds them, in each of two places with the same program.
cat >beside.c <<'C'
#include <stdio.h>
void name(void) { puts(__FILE__); }
C
cp beside.c others.c
mkdir here there
compile here/libname.so beside.c -shared -fPIC -Wl,-soname,libname.so
compile there/libname.so others.c -shared -fPIC -Wl,-soname,libname.so
echo 'void name(void); int main() { name(); }' >names.c
for tags in --enable-new-dtags --disable-new-dtags; do
  compile here/names names.c here/libname.so -Wl,$tags,-rpath,/nowhere:'$ORIGIN/../here:$ORIGIN'
  cp -p here/names there/names
  mv here/libname.so beside.so
  run prof run --no-imports there/names
  [ "$(cat stdout)" = others.c ] || fail "$tags, in the other place: $(cat stdout stderr)"
  mv beside.so here/libname.so
  for place in here there; do
    run prof run $place/names
    [ "$(cat stdout)" = beside.c ] || fail "$tags, $place: $(cat stdout stderr)"
  done
done
profld --no-imports --search-path "$PWD/there" -o moved here/names || fail "profld --search-path"
run ./moved
[ "$(cat stdout)" = others.c ] || fail "profld --search-path: $(cat stdout stderr)"

# So it does in folders whose names mean something to the dynamic linker, and so do its libraries; they keep their names.
cat >inner.c <<'C'
int inner(void) { return 7; }
C
cat >outer.c <<'C'
int inner(void);
int outer(void) { return inner() + 1; }
C
cat >place.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int inner(void), outer(void);
__attribute__((noipa)) static void tell(void* function) {
  Dl_info info;
  if (dladdr(function, &info)) puts(info.dli_fname);
}
int main(void) {
  printf("%d\n", outer());
  tell((void*)outer);
  tell((void*)inner);
  return 3;
}
C
for tags in --enable-new-dtags --disable-new-dtags; do
  for folder in plain a:b 'a$ORIGIN' 'a${LIB}:$PLATFORM b'; do
    rm -rf "$folder" && mkdir -p "$folder/lib/deep" "$folder/bin"
    gcc -shared -fPIC -O1 inner.c -o "$folder/lib/deep/libinner.so" -Wl,-soname,libinner.so
    gcc -shared -fPIC -O1 outer.c -o "$folder/lib/libouter.so" -Wl,-soname,libouter.so "$folder/lib/deep/libinner.so" -Wl,$tags,-rpath,'$ORIGIN/deep'
    gcc -O1 place.c -o "$folder/bin/place" "$folder/lib/libouter.so" "$folder/lib/deep/libinner.so" -Wl,$tags,-rpath,'$ORIGIN/../lib:${ORIGIN}/../lib/deep'
    "$folder/bin/place" >expected || [ $? = 3 ] || fail "$folder: does not run"
    for way in "" --libs --libs; do
      run prof run $way "$folder/bin/place"
      [ "$status" = 3 ] && cmp -s expected stdout && grep -qP '\ttell( |$)' stderr || fail "$folder, $tags, $way: exit status $status, $(diff expected stdout) $(cat stderr)"
    done
  done
done
a:b/bin/place >expected
run prof run --true a:b/bin/place
[ "$status" = 3 ] && cmp -s expected stdout || fail "--true: exit status $status, $(cat stdout stderr)"
XDG_CACHE_HOME=$PWD/a:b run prof run a:b/bin/place
[ "$status" = 1 ] && grep -q '^prof: .*a:b/prof/.*: the dynamic linker cannot be told a path with : or \$ or a newline; set XDG_CACHE_HOME' stderr || fail "a cache with a colon: exit status $status, $(cat stderr)"

# A library in a folder with a newline in its name.
odd=$'odd\nfolder'
rm -rf "$odd" && cp -r plain "$odd"
"$odd/bin/place" >expected
for time in 1 2; do
  run prof run --libs-all "$odd/bin/place"
  [ "$status" = 3 ] && cmp -s expected stdout && grep -qP '\touter' stderr && grep -qP '\tinner' stderr || fail "newline: exit status $status, $(cat stdout stderr)"
done

# A cache from whose file system no program can be run.
cat >noexec.sh <<'S'
mount -t tmpfs -o noexec none noexec || exit 9
export XDG_CACHE_HOME=$PWD/noexec TMPDIR=$PWD/elsewhere
for time in 1 2; do
  prof run plain/bin/place >stdout 2>stderr
  [ $? = 3 ] && grep -qx 8 stdout && [ "$(grep -c "^prof: $PWD/noexec/prof: no program can be run from its file system (noexec); rewritten programs are kept in $TMPDIR/prof-" stderr)" = 1 ] ||
    exit 1
done
S
mkdir noexec elsewhere
unshare --user --map-root-user --mount bash noexec.sh || unshare -m bash noexec.sh || fail "noexec: $(cat stdout stderr)"
exit 0
