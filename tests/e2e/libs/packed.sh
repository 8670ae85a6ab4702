# profld --libs: a folder with a program and its libraries runs wherever it is, without those that are installed.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache
mkdir -p original/lib original/bin
cat >library.c <<'C'
#include <stdio.h>
__attribute__((noipa)) int LOOP(int n) {
  volatile int sum = 0;
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}
int FUNCTION(int n) { return printf("%s %d\n", __FILE__, LOOP(n)); }
C
cat >program.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int linked(int);
static int copies;
static int each(struct dl_phdr_info* info, size_t size, void* data) {
  return copies += strstr(info->dlpi_name, "libc.so") != 0, 0;
}
int main(int argc, char** argv) {
  linked(3);
  void* plugin = dlopen(argv[1], RTLD_NOW);
  if (!plugin) puts(dlerror());
  if (plugin) ((int (*)(int))dlsym(plugin, "plugin"))(4);
  dl_iterate_phdr(each, 0);
  printf("%s [%s] %d\n", argv[0], argv[2], copies);
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[5000];
  while (fgets(line, sizeof line, maps))
    if (strchr(line, '/') && strstr(line, "r-xp")) fputs(strchr(line, '/'), stderr);
  return 7;
}
C
compile original/lib/liblinked.so library.c -DFUNCTION=linked -DLOOP=one -shared -fPIC -Wl,-soname,liblinked.so
compile original/lib/plugin.so library.c -DFUNCTION=plugin -DLOOP=two -shared -fPIC
compile original/bin/program program.c original/lib/liblinked.so '-Wl,-rpath,$ORIGIN/../lib'
plugin=$PWD/original/lib/plugin.so
(exec -a program original/bin/program "$plugin" "two  words") >expected 2>/dev/null
[ "$(tail -n 1 expected)" = "program [two  words] 1" ] || fail "the program itself: $(cat expected)"

prof run --libs original/bin/program "$plugin" "" >/dev/null 2>&1
rm prof.*
run profld --libs -o "a directory/" original/bin/program
[ "$status" = 0 ] && [ ! -s stdout ] && [ ! -s stderr ] || fail "profld --libs: $status $(cat stdout stderr)"
[ "$(find . -maxdepth 1 -name 'a directory*')" = "./a directory" ] || fail "left behind: $(ls)"

# Elsewhere, without the original.
mkdir else where
mv "a directory" "else/another 'directory"
mv original cache where
cd where || exit 1
PROFDIR=.. run "../else/another 'directory/run-program" "$plugin" "two  words"
[ "$status" = 7 ] && cmp -s ../expected stdout || fail "elsewhere: $status $(cat stdout stderr)"
cd ..
! grep -vF "$PWD/else/another 'directory/" where/stderr || fail "foreign files: $(cat where/stderr)"
prof "else/another 'directory$PWD/original/bin/program" prof.* >table 2>&1 || fail "$(cat table)"
grep -qP '\tone( |$)' table && grep -qP '\ttwo( |$)' table && grep -qP '\tmain( |$)' table && grep -qP '\tprintf( |$)' table || fail "not profiled: $(cat table)"
# What the C library has in several forms is profiled where the program calls it, as with prof run --libs.
grep -qP '\tstrstr( |$)' table && grep -qP '\tstrchr( |$)' table || fail "not profiled where it is called: $(cat table)"
ln -s "else/another 'directory/run-program" link
(cd / && exec "$OLDPWD/link" "$plugin" x) >stdout 2>&1
grep -qF 'program [x] 1' stdout || fail "by a link: $(cat stdout)"

# A dynamic linker that lies in the folder itself: its name stands in memory that is not to be written to.
mkdir shadow
cp "$BUILD/lib/libprof-audit.so" shadow
ln -s /lib64/ld-linux-x86-64.so.2 shadow/ld.so
compile interpreted program.c -Dlinked=abs "-Wl,--dynamic-linker,$PWD/shadow/ld.so"
profld --audit "$PWD/shadow/libprof-audit.so" -o interpreted.prof interpreted || fail "no copy"
run ./interpreted.prof nothing ""
[ "$status" = 7 ] || fail "a dynamic linker in the folder: $status $(cat stderr)"

# Refused in a line, and nothing is left.
mv where/original original
refused() {
  local status_expected=$1 words=$2
  shift 2
  run profld "$@"
  [ "$status" = "$status_expected" ] && [ "$(wc -l <stderr)" = 1 ] && grep -qF -e "$words" stderr || fail "profld $*: $status $(cat stderr)"
}
refused 1 "exists already" --libs -o else original/bin/program
refused 2 "takes one program" --libs original/bin/program
refused 1 "No such file" --libs -o new no-such-program
cp /etc/hosts text && chmod +x text
refused 1 "not an ELF file" --libs -o new text
compile static program.c -static -Dlinked=abs
refused 1 "static" --libs -o new static
compgen -G "new*" && fail "left behind"
exit 0
