# prof run --libs: a library is found by each of its names, stays one under all of them, and keeps the name that it has.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache
mkdir -p "app dir/bin" "app dir/lib/deeper" "app dir/plugins/needed" "app dir/plugins/extra" links

cat >library.c <<'C'
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#ifdef OTHER
const char* OTHER(void);
#include <dlfcn.h>
const char* extra(void) { return dlopen("none.so", RTLD_NOW) ? "none" : dlopen("libextra.so", RTLD_NOW) ? "extra" : dlerror(); }
const char* NAME(void) { return OTHER()[0] ? TEXT(NAME) " with " TEXT(OTHER) : 0; }
#else
const char* NAME(void) { return TEXT(NAME); }
#endif
C
compile "app dir/lib/liblinked.so" library.c -DNAME=linked -shared -fPIC -Wl,-soname,liblinked.so
compile "app dir/lib/deeper/libdeep.so" library.c -DNAME=deep -shared -fPIC
compile "app dir/plugins/needed/libneeded.so" library.c -DNAME=needed -shared -fPIC -Wl,-soname,libneeded.so
compile "app dir/plugins/plugin.so" library.c -DNAME=plugin -DOTHER=needed -shared -fPIC "app dir/plugins/needed/libneeded.so" '-Wl,-rpath,$ORIGIN/needed:$ORIGIN/extra'
compile "app dir/plugins/second.so" library.c -DNAME=second -shared -fPIC
compile "app dir/plugins/extra/libextra.so" library.c -DNAME=extra -shared -fPIC
compile "app dir/plugins/third.so" library.c -DNAME=third -shared -fPIC
compile "app dir/plugins/fourth.so" library.c -DNAME=fourth -shared -fPIC
ln -s "../app dir/plugins/second.so" links/other-name.so
ln -s "app dir" linked-dir

# Prints all that it can learn of its libraries.
cat >program.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
const char* linked(void);
static void* open_it(const char* name) {
  struct link_map* map = dlopen(name, RTLD_NOW);
  if (!map) {
    printf("%s: %s\n", name, dlerror());
    return 0;
  }
  printf("%s: is %s\n", name, map->l_name);
  return map;
}
static void call(const char* name, const char* function) {
  void* library = open_it(name);
  const char* (*f)(void) = library ? (const char* (*)(void))dlsym(library, function) : 0;
  Dl_info info = {0};
  if (f && dladdr((void*)f, &info)) printf("%s in %s\n", f(), info.dli_fname);
}
static int each(struct dl_phdr_info* info, size_t size, void* data) {
  if (!strstr(info->dlpi_name, "libprof")) printf("has %s\n", info->dlpi_name);
  return 0;
}
int main(int argc, char** argv) {
  puts(linked());
  Dl_info info;
  dladdr((void*)linked, &info);
  printf("linked in %s\n", info.dli_fname);
  void* c = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  printf("one C library: %d %d\n", c == open_it("/lib/x86_64-linux-gnu/libc.so.6"), c == open_it("/usr/lib/x86_64-linux-gnu/../x86_64-linux-gnu/libc.so.6"));
  call("libdeep.so", "deep");
  call(argv[1], "plugin");
  call("$ORIGIN/../plugins/second.so", "second");
  printf("one plugin: %d\n", open_it("links/other-name.so") == open_it("linked-dir/plugins/second.so"));
  chdir("app dir/plugins");
  printf("one plugin: %d\n", open_it("./third.so") == open_it(argv[2]));
  call("third.so", "third");
  call("./third.so", "third");
  call("/nowhere/third.so", "third");
  char name[1000] = "";
  for (int i = 0; i < 300; ++i) strcat(name, "./");
  call(strcat(name, "fourth.so"), "fourth");
  if (argc > 3) puts(((const char* (*)(void))dlsym(dlopen(argv[1], RTLD_NOW), "extra"))());
  dl_iterate_phdr(each, 0);
  puts(dlmopen(LM_ID_NEWLM, "../lib/liblinked.so", RTLD_NOW) ? "another" : dlerror());
  return 0;
}
C
compile "app dir/bin/program" program.c "app dir/lib/liblinked.so" '-Wl,-rpath,$ORIGIN/../lib:$ORIGIN/../lib/deeper'
arguments=("app dir/bin/program" "$PWD/app dir/plugins/plugin.so" "$PWD/links/../linked-dir/plugins/third.so")
run "${arguments[@]}"
[ "$status" = 0 ] && grep -q 'another' stdout || fail "the program itself: $(cat stdout stderr)"
mv stdout expected

# As it is found at first, and when there are copies of the plugins too.
for time in first second third; do
  run prof run --libs-all "${arguments[@]}"
  diff expected stdout >differences || fail "the $time time: $(cat differences) $(cat stderr)"
done
has_row 1 'plugin( .*)?' stderr && has_row 1 'needed( .*)?' stderr && has_row 1 'third( .*)?' stderr && has_row 1 'deep( .*)?' stderr || fail "not profiled: $(cat stderr)"

# What a plugin opens for the first time, where it searches, when it has a copy itself.
run "${arguments[@]}" more
grep -qx extra stdout && mv stdout expected || fail "the program itself: $(cat stdout stderr)"
run prof run --libs-all "${arguments[@]}" more
diff expected stdout >differences || fail "the fourth time: $(cat differences) $(cat stderr)"

# The copies are copies of ours.
root=$(echo cache/prof/*/root)
[ -s "$root/$PWD/app dir/plugins/plugin.so" ] && [ -s "$root/.program$PWD/app dir/bin/program" ] || fail "no copies: $(find "$root")"
[ "$(readlink "$root/lib")" = usr/lib ] || fail "no link $root/lib"
exit 0
