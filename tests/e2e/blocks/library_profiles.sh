# Where the counts of libraries' blocks go: each process has its own, a library that comes back goes on with its array, in other
# namespaces too; the profile may be in private memory, and a library be initialized before the runtime.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >work.c <<'C'
#include <stdlib.h>
// Of each round one block more.
long work(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i)
    sum += i; // round
  srand(n); // so that it has a C library, in each namespace
  return sum;
}
C
compile plain/libwork.so work.c -O0 -g -shared -fPIC -Wl,-soname,libwork.so
library libwork.so -b
line=$(grep -n '// round' work.c | cut -d : -f 1)

# rounds PROFILE...: how often the line ran, in all of them.
rounds() {
  prof --annotate=work --debug-dir plain "$@" >annotated 2>prof.log || fail "prof --annotate: $(cat prof.log)"
  awk -F'\t' -v line="$line" '{ n = split($1, word, " ") } word[n] == line { print word[1] }' annotated
}

# have EXPECTED PROFILE...
have() {
  local expected=$1 found
  shift
  found=$(rounds "$@")
  [ "$found" = "$expected" ] || fail "$what: $* has $found rounds, not $expected"
}

# A host that does what the letters of its argument say, one after the other, and prints the process that it is.
cat >host.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void *library;
static long (*work)(long);
static void load(void *l) {
  if (!(library = l)) puts(dlerror()), exit(9);
  work = (long (*)(long))dlsym(library, "work");
}
static void *in_thread(void *n) { return (void *)work((long)n); }
static void *with_others(void *n) {
  usleep(1000);
  return n;
}
int main(int argc, char **argv) {
  char **words = argv + 2;
  int is_child = 0;
  for (const char *c = argv[1]; *c; ++c) {
    pthread_t threads[4];
    switch (*c) {
      case 'l': load(dlopen(*words, RTLD_NOW)); break;
      case 'm': load(dlmopen(LM_ID_NEWLM, *words, RTLD_NOW)); break;
      case 'u': dlclose(library); break;
      case '1': work(1); break;
      case '5': work(5); break;
      case 't':
        for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, in_thread, (void *)100000);
        for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
        break;
      case 'f': // the rest is the child's, up to a dot
      case 'F':
        fflush(stdout);
        if ((*c == 'f' ? fork() : syscall(SYS_clone, 17, 0, 0, 0, 0)) != 0) {
          wait(NULL);
          for (int depth = 1; depth; depth += (*c == 'f') + (*c == 'F') - (*c == '.')) ++c;
        } else {
          is_child++;
        }
        break;
      case '.':
        printf("child %d %d\n", is_child, getpid());
        exit(0);
      case 'x': execl(argv[0], argv[0], "l1", argv[2], (char *)0); break;
      case 'k': printf("parent %d\n", getpid()), fflush(stdout), raise(9);
    }
  }
  printf("parent %d\n", getpid());
}
C
compile host host.c -O1
rewrite host --no-imports
ulimit -c 0

# does PROGRAM LETTERS: profiles of what it did are in `profiles', its words in `stdout'.
does() {
  what="$*"
  rm -rf profiles
  mkdir profiles
  { PROFDIR=profiles run "./$1" "$2" copy/libwork.so; } 2>/dev/null
  [ "$status" = 0 ] || [[ $2 = *k* ]] || fail "$what: status $status, $(cat stdout stderr)"
  [ ! -s stderr ] || fail "$what: says $(cat stderr)"
}
of() { echo profiles/prof."$(sed -n "s/^$1 //p" stdout)"; } # of WHO, as it said

for host in host host.prof; do
  does $host l5k
  have 5 profiles/prof.*
  does $host lf1.5
  have 5 "$(of parent)"
  have 1 "$(of 'child 1')"
  does $host l5f11f1.1.1
  have 6 "$(of parent)"
  have 3 "$(of 'child 1')"
  have 1 "$(of 'child 2')"
  does $host l5ful1ul5.1
  have 6 "$(of parent)"
  have 6 "$(of 'child 1')"
  does $host l5fulul1u.ul1
  have 6 "$(of parent)"
  have 1 "$(of 'child 1')"
  # By a system call of its own: what the child counts before it comes to the runtime is its parent's.
  does $host l5F1.1
  have 7 profiles/prof.*
  does $host ltulft.ult5
  have 800005 "$(of parent)"
  have 400000 "$(of 'child 1')"
  does $host l5x
  have 5 "profiles/prof.$(sed -n 's/parent //p' stdout)"
  have 1 "profiles/prof.$(sed -n 's/parent //p' stdout).1"
  # The same file in many namespaces.
  does $host l1m1m5m1m5
  have 13 profiles/prof.*
  does $host m1um1ufm1u.m5
  have 7 "$(of parent)"
  have 1 "$(of 'child 1')"
done

# It does not grow with each time that the library comes back.
does host l1
before=$(stat -c %s profiles/prof.*)
# shellcheck disable=SC2046 # words
does host "$(printf 'ul1%.0s' $(seq 500) | sed 's/^/l1/')"
have 501 profiles/prof.*
[ "$(stat -c %s profiles/prof.*)" = "$before" ] || fail "the profile of 501 loads has $(stat -c %s profiles/prof.*) bytes, not $before"

# In private memory: an unloaded library is not read at the end.
gcc -O1 -o launch "$tests/libprof/launch.c" || fail "cannot compile launch.c"
for letters in l5 l5u l5ul1 l5f1.1 l5uful5u. ltft.; do
  what="private memory, $letters"
  rm -rf profiles
  mkdir profiles
  PROFDIR=profiles run ./launch 9:3=1 19 9:3=17 19 -- ./host.prof "$letters" copy/libwork.so
  [ "$status" = 0 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q '^prof: .*cannot share a file as memory' stderr || fail "$what: $status $(cat stderr)"
  case $letters in
    l5uful5u.) have 5 "$(of parent)" && have 5 "$(of 'child 1')" ;;
    l5f1.1) have 6 "$(of parent)" && have 1 "$(of 'child 1')" ;;
    ltft.) have 400000 "$(of parent)" && have 400000 "$(of 'child 1')" ;;
    *) have $((5 + (${#letters} == 5))) "$(of parent)" ;;
  esac
done

# Initialized before the runtime, and counted before that in constructors.
cat >first.c <<'C'
long work(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i)
    sum += i; // round
  return sum;
}
__attribute__((constructor)) static void begin(void) { work(20); }
C
line=$(grep -n '// round' first.c | cut -d : -f 1)
cat >needs.c <<'C'
long work(long n);
int main(void) { return work(3) != 3; }
C
compile plain/libfirst.so first.c -O0 -g -shared -fPIC -Wl,-soname,libfirst.so -Wl,-z,initfirst
compile needs needs.c -O1 plain/libfirst.so
library libfirst.so -b
rewrite needs --no-imports
for program in needs needs.prof; do
  what="$program, initfirst"
  rm -rf profiles
  mkdir profiles
  PROFDIR=profiles LD_LIBRARY_PATH=copy run ./$program
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "$what: $status $(cat stderr)"
  have 23 profiles/prof.*
done
