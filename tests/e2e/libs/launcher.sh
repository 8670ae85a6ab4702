# prof run --libs: a program that looks for its files beside its own file or its library finds the same as without, each time.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache
mkdir -p home/bin home/lib home/share
echo text >home/lib/text
echo shared >home/share/text
cat >library.c <<'C'
__attribute__((noipa)) int inside(void) {
  volatile int sum = 0;
  for (int i = 0; i < 42; ++i) sum += 1;
  return sum;
}
int answer(void) { return inside(); }
C
cat >launcher.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
int answer(void);
static char home[4096];
__attribute__((noipa)) static void up(void) { *strrchr(home, '/') = 0; }
__attribute__((noipa)) static int is_there(const char* name) {
  char path[5000];
  snprintf(path, sizeof path, "%s/%s", home, name);
  return access(path, F_OK) == 0;
}
__attribute__((noipa)) static void show(const char* name) {
  char path[5000], text[64] = "nothing\n";
  snprintf(path, sizeof path, "%s/%s", home, name);
  FILE* file = fopen(path, "r");
  if (file) fgets(text, sizeof text, file);
  printf("%s: %s", name, text);
}
int main(int argc, char** argv) {
  home[readlink("/proc/self/exe", home, sizeof home - 1)] = 0;
  up(), up();
  // What tells that this is an installation: the library, its folder, another folder, any file.
  if (!is_there(argv[1])) {
    Dl_info info;
    dladdr((void*)answer, &info);
    strcpy(home, info.dli_fname);
    up(), up();
  }
  printf("%d %s\n", answer(), home);
  show("lib/text"), show("share/text");
  return 0;
}
C
gcc -O1 -shared -fPIC library.c -o home/lib/libanswer.so -Wl,-soname,libanswer.so
gcc -O1 launcher.c -o home/bin/launcher home/lib/libanswer.so '-Wl,-rpath,$ORIGIN/../lib'
for sign in lib/libanswer.so lib bin/../lib share; do
  home/bin/launcher $sign >expected
  sed -i 's/home\/bin\/\.\.$/home/' expected
  rm -rf cache
  for time in 1 2 3; do
    run prof run --libs home/bin/launcher $sign
    sed -i 's/home\/bin\/\.\.$/home/' stdout
    [ "$status" = 0 ] && cmp -s expected stdout && grep -qP '\tinside' stderr || fail "$sign, time $time: $(diff expected stdout; cat stderr)"
  done
done
exit 0
