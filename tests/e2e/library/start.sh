# What a library does when it is loaded and unloaded: DT_INIT with its arguments, constructors and destructors in their order,
# atexit, and where it is found (RPATH, RUNPATH, $ORIGIN).
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >work.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#define KEPT __attribute__((noinline))
extern char** environ;
static int order, calls_of_say;
KEPT static void say(const char* what, int argc, char** argv, char** envp) {
  ++calls_of_say;
  printf("%s %d %s %d %d\n", what, argc, argv ? argv[1] : "-", envp == environ, ++order);
}
void own_init(int argc, char** argv, char** envp) { say("DT_INIT", argc, argv, envp); }
__attribute__((constructor(200))) static void first(int argc, char** argv, char** envp) { say("first", argc, argv, envp); }
__attribute__((constructor)) static void second(int argc, char** argv, char** envp) { say("second", argc, argv, envp); }
static void at_end(void) { say("atexit", 0, NULL, environ); }
__attribute__((constructor)) static void third(int argc, char** argv, char** envp) {
#ifndef ALONE // else nothing tells the C library that it is unloaded
  atexit(at_end);
#endif
  say("third", argc, argv, envp);
}
__attribute__((destructor(200))) static void last(void) { say("last", 0, NULL, environ); }
__attribute__((destructor)) static void before_last(void) { say("before last", 0, NULL, environ); }
void own_fini(void) {
  say("DT_FINI", 0, NULL, environ);
  printf("calls say %d\n", calls_of_say);
}
KEPT int work(int x) {
  say("work", x, NULL, environ);
  return x + 1;
}
C
cat >objects.cc <<'C'
#include <cstdio>
static int n;
struct Object {
  const char* name;
  explicit Object(const char* what) : name(what) { made(); }
  ~Object() { gone(); }
  [[gnu::noinline]] void made() { std::printf("%s %d\n", name, ++n); }
  [[gnu::noinline]] void gone() { std::printf("~%s %d\n", name, ++n); }
};
static Object one("one"), two("two");
extern "C" [[gnu::noinline]] int work(int x) {
  static Object local("local");
  static thread_local Object of_thread("of thread");
  of_thread.made();
  local.made();
  return x * 2;
}
C
cat >host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  for (int i = 0; i < 2; ++i) {
    void* library = dlopen(argv[2], RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    printf("%d\n", ((int (*)(int))dlsym(library, "work"))(argc));
    if (argv[3][0] == 'c') dlclose(library);
  }
  puts("end of main");
  return 9;
}
C
cat >linked.c <<'C'
#include <stdio.h>
int work(int x);
int main(int argc, char** argv) {
  printf("%d\n", work(argc));
  return 9;
}
C
compile host host.c -O1
rewrite host --no-imports
for flags in "" "-Wl,-init=own_init -Wl,-fini=own_fini" "-nostartfiles -DALONE" "-nostartfiles -DALONE -Wl,-init=own_init,-fini=own_fini" "-Wl,-z,now,-z,relro -Wl,-init=own_init"; do
  # shellcheck disable=SC2086 # a list of words
  compile plain/work.so work.c -O1 -shared -fPIC -Wl,-soname,work.so $flags
  library work.so
  compile linked linked.c -O1 plain/work.so
  for host in host host.prof; do
    for closes in closes stays; do
      with_copies ./$host argument work.so $closes
      [ "$status" = 9 ] || fail "$host $flags: status $status"
    done
  done
  with_copies ./linked argument
  [ "$status" = 9 ] || fail "linked, $flags: status $status"
  ! grep -q '^calls' stdout || same_calls "linked, $flags" <stdout
done
compile plain/work.so objects.cc -O1 -shared -fPIC
library work.so
for closes in closes stays; do with_copies ./host argument work.so $closes; done

# Where libraries are found: their own paths and those of what they need are the same in a copy.
mkdir -p tree/bin tree/lib tree/deep tree.copy/bin tree.copy/lib tree.copy/deep
cat >inner.c <<'C'
int inner(int x) { return x * 7; }
C
cat >outer.c <<'C'
int inner(int x);
int work(int x) { return inner(x) + inner(x + 1); }
C
for kind in enable disable; do
  compile tree/deep/libinner.so inner.c -O1 -shared -fPIC -Wl,-soname,libinner.so
  # shellcheck disable=SC2016 # the dynamic linker's
  compile tree/lib/libouter.so outer.c -O1 -shared -fPIC -Wl,-soname,libouter.so tree/deep/libinner.so -Wl,-rpath,'$ORIGIN/../deep',--$kind-new-dtags
  # shellcheck disable=SC2016
  compile tree/bin/linked linked.c -O1 tree/lib/libouter.so -Wl,-rpath,'$ORIGIN/../lib',--$kind-new-dtags,-rpath-link,tree/deep
  profld -o tree.copy/bin/linked --no-imports tree/bin/linked
  profld -o tree.copy/lib/libouter.so --all --no-imports tree/lib/libouter.so
  profld -o tree.copy/deep/libinner.so --all --no-imports tree/deep/libinner.so
  rm -rf profiles
  mkdir profiles
  run tree/bin/linked
  mv stdout expected
  PROFDIR=profiles run tree.copy/bin/linked
  [ "$status" = 9 ] && cmp -s stdout expected || fail "$kind-new-dtags: status $status, $(cat stdout stderr)"
  same_calls "$kind-new-dtags" <<<$'calls main 1\ncalls work 1\ncalls inner 2'
done
