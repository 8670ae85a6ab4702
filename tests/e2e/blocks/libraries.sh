# profld -b of libraries: lines have the counts that gcov gives them, of libraries that come and go, with threads, children and
# whichever way control leaves; killed or not.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >other.c <<'C'
int other(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += i;
  return sum;
}
C

# What gcov counts. A library that is unloaded adds to its file.
mkdir coverage
(
  cd coverage && g++ -O0 -w --coverage -fprofile-update=atomic -pthread -shared -fPIC -o lib.so "$programs/blocks_library.cc" &&
    g++ -O0 -w --coverage -pthread -o host "$programs/blocks_library_host.cc" &&
    gcc -O0 -w --coverage -fprofile-update=atomic -shared -fPIC -o other.so ../other.c &&
    ./host ./lib.so ./other.so return >output && gcov -- *.gcda >report 2>&1
) || fail "gcov: $(cat coverage/output)"
[ -s coverage/blocks_library.cc.gcov ] && [ -s coverage/other.c.gcov ] || fail "gcov has no counts"

# counted WHAT: the profiles in `profiles' have the counts of both libraries.
counted() {
  prof --json profiles/prof.* >json 2>prof.log || fail "$1: $(cat prof.log)"
  for library in lib:blocks_library.cc other:other.c; do
    name=${library%%:*}.so source=${library#*:}
    jq --arg name "$name" '{blocks: [.blocks[] | select(.module == $name)]}' json >json.one
    case $source in other.c) path=other.c ;; *) path=$programs/$source ;; esac
    python3 "$tests/block_lines.py" "plain/$name" "$path" json.one "coverage/$source.gcov" >lines 2>&1 ||
      fail "$1: $source: $(head -n 5 lines)"
  done
}

compile plain/lib.so "$programs/blocks_library.cc" -g -O0 -shared -fPIC
compile plain/other.so other.c -g -O0 -shared -fPIC
compile host "$programs/blocks_library_host.cc" -g -O0
rewrite host --no-imports
cp host.prof host.hooked
rewrite host --no-imports -b
cp host.prof host.counted

# A trace needs gs, which belongs to the program.
run profld --trace -o no plain/lib.so
[ "$status" = 1 ] && grep -q 'a shared library, whose blocks --trace cannot write down' stderr || fail "--trace: $status $(cat stderr)"

for options in -b '-b --no-hooks'; do
  # shellcheck disable=SC2086 # lists of words
  library lib.so $options
  # shellcheck disable=SC2086
  library other.so $options
  case $options in *no-hooks) locked=false ;; *) locked=true ;; esac # by the runtime, before there are threads
  [ "$(jq .counters_locked copy/lib.so.report)" = "$locked" ] || fail "$options: counters_locked is not $locked"
  for host in host host.hooked host.counted; do
    for end in return kill exit; do
      rm -rf profiles
      mkdir profiles
      { PROFDIR=profiles ./$host copy/lib.so copy/other.so $end >stdout 2>stderr; } 2>killed
      cmp -s stdout coverage/output && [ ! -s stderr ] || fail "$options, $host, $end: $(diff stdout coverage/output) $(cat stderr)"
      # The process, and six children of its; the one that forks itself has one more.
      case $host$options in
        'host-b --no-hooks') ;;
        *) [ "$(compgen -G 'profiles/prof.*' | wc -l)" = 7 ] || fail "$options, $host, $end: $(ls profiles)" ;;
      esac
      counted "$options, $host, $end"
    done
  done
done

# Samples that come while the program runs, which was never rewritten, are its own.
cat >spinning.c <<'C'
#include <stdio.h>
#include <time.h>
int other(int);
__attribute__((noipa)) void spin(void) {
  while (clock() < CLOCKS_PER_SEC / 2)
    for (volatile int i = 0; i < 100000; i++) {
    }
}
int main(void) {
  spin();
  return printf("%d\n", other(4)) < 0;
}
C
library other.so -b --no-hooks
compile spinning spinning.c -O1 -Lplain -l:other.so
rm -rf profiles
mkdir profiles
PROFDIR=profiles LD_LIBRARY_PATH=copy run ./spinning
[ "$status $(cat stdout)" = "0 6" ] || fail "spinning: $status $(cat stdout stderr)"
prof --json profiles/prof.* >json 2>prof.log || fail "spinning: $(cat prof.log)"
jq -e '[.functions[] | select(.name == "spin" and .share > 0.5)] | length == 1' json >/dev/null &&
  jq -e '[.functions[] | select(.name == "other") | .calls] == [1]' json >/dev/null || fail "spinning: $(jq -c .functions json)"
