# Static programs that set the thread pointer to memory of their own go on unharmed, and the profile says from when on it has
# nothing; those whose C library looks at the program headers, and those that never set it, are profiled to the end.
. "${0%/*}/../common.inc"

# calls FUNCTION PROFILE: how many calls the profile has of it.
calls() { prof --json own_fs "$2" 2>json.log | jq "[.functions[] | select(.name == \"$1\") | .calls] | add"; }

for options in "-O1" "-O2 -fPIE -static-pie"; do
  compile own_fs "$programs/own_fs.c" $options -static -nostdlib -fno-stack-protector -mfsgsbase
  rewrite own_fs
  for type in time elapsed count sample adaptive; do
    export PROFTYPE=$type
    profiled own_fs
    [ "$(calls leaf own_fs.profiles/prof.*)" = 16 ] || fail "$options, $type: $(cat json.log) $(calls leaf own_fs.profiles/prof.*) calls"
    for arguments in a "a b" "a b c" "a b c d"; do
      profile_says='prof: the program has no thread-local storage where its headers ask for it; nothing is profiled from here on'
      # shellcheck disable=SC2086
      run ./own_fs $arguments
      mv stdout expected
      [ "$status" = 7 ] || fail "own_fs $arguments: exit status $status"
      rm -rf own_fs.profiles && mkdir own_fs.profiles
      # shellcheck disable=SC2086
      PROFDIR=own_fs.profiles run ./own_fs.prof $arguments
      [ "$status" = 7 ] || fail "$options, $type, $arguments: exit status $status: $(cat stderr)"
      cmp -s expected stdout || fail "$options, $type, $arguments: prints $(cat stdout)"
      [ "$(cat stderr)" = "$profile_says" ] || fail "$options, $type, $arguments: $(cat stderr)"
      [ "$(calls leaf own_fs.profiles/prof.*)" = 10 ] || fail "$options, $type, $arguments: $(calls leaf own_fs.profiles/prof.*) calls of leaf"
      run prof own_fs own_fs.profiles/prof.*
      grep 'what it called since it set its thread pointer (fs) is missing' stderr >/dev/null || fail "$options, $type, $arguments: $(cat stderr)"
    done
  done
done
unset PROFTYPE

# What was built with musl has no PT_TLS either, unless it has such variables, but looks for it.
cat >musl.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include "calls.h"
static volatile int sum[4];
KEPT void leaf(int i) { ++sum[i]; }
static void *work(void *which) {
  for (int i = 0; i < 1000; ++i) leaf((int)(long)which);
  return 0;
}
int main(void) {
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], 0, work, (void *)i);
  work((void *)3);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
  printf("%d\n", sum[0] + sum[1] + sum[2] + sum[3]);
}
C
CC=musl-gcc compile musl musl.c -O1 -static
readelf -lW musl >headers
grep -q TLS headers && fail "musl's program has thread-local storage"
rewrite musl
profiled musl
prof --json musl musl.profiles/prof.* >json 2>stderr || fail "musl: $(cat stderr)"
[ "$(jq '[.functions[] | select(.name == "leaf") | .calls] | add' json)" = 4000 ] && [ ! -s stderr ] || fail "musl: $(cat json stderr)"
strip -o stripped musl
rewrite stripped
profiled stripped

# Counters of blocks and traces do not harm such programs either.
compile own_fs "$programs/own_fs.c" -O1 -static -nostdlib -fno-stack-protector -mfsgsbase
for how in -b "-b --no-hooks" --trace=blocks --trace=memory; do
  # shellcheck disable=SC2086
  rewrite own_fs $how
  for arguments in a "a b" "a b c" "a b c d"; do
    rm -rf profiles && mkdir profiles
    # shellcheck disable=SC2086
    run ./own_fs $arguments
    mv stdout expected
    # shellcheck disable=SC2086
    PROFDIR=profiles run ./own_fs.prof $arguments
    [ "$status" = 7 ] && cmp -s expected stdout || fail "$how, $arguments: exit status $status: $(cat stdout stderr)"
  done
done
