# Plugins that are loaded in turn at one address: each has its own calls, however often, and in forked children.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

# plugin NAME CALLS: of which a function NAME is called CALLS times each time that it is used.
plugin() {
  cat >"$1.c" <<C
static int n = $2;
__attribute__((noinline)) int $1(int x) { return x * n + 1; }
int run(int x) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += $1(i + x);
  return sum;
}
C
  compile "plain/$1.so" "$1.c" -O1 -shared -fPIC
  library "$1.so"
}
plugin one 1
plugin two 2
plugin six 6
compile host "$programs/plugin_host.c" -O1
rewrite host --no-imports

# together HOST WHAT ARG...: the copies are used; they have to be at one address.
together() {
  local host=$1
  shift
  rm -rf profiles
  mkdir profiles
  PROFDIR=profiles run "./$host" "$@" copy/one.so copy/two.so copy/six.so
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "$host $*: status $status, says $(tail -n 2 stdout stderr)"
  cp stdout together
  # In a child the first one is there before the runtime has memory of its own.
  awk '$NF != 0 && ($1 == "parent" || $NF != 3 * times - 1) { exit 1 }' times="$1" stdout || fail "$host $*: $(cat stdout)"
  awk '{ print $1, $3 }' stdout >copies.sums
  PROFDIR=profiles run ./host "$@" plain/one.so plain/two.so plain/six.so
  awk '{ print $1, $3 }' stdout | cmp -s - copies.sums || fail "$host $*: prints $(cat copies.sums), not $(cat stdout)"
  mv together stdout
}

# these FILE CALLS: a profile has so many calls of the three plugins, in a tree where each is called by its own run.
these() {
  prof --json "$1" >profile.json 2>prof.log && [ ! -s prof.log ] || fail "prof: $(cat prof.log)"
  jq -r '.functions[] | select(.name | test("^(run|one|two|six)$")) | "\(.module) \(.name) \(.calls)"' profile.json | sort >found
  sort >wanted <<CALLS
one.so run $2
one.so one $2
two.so run $2
two.so two $((2 * $2))
six.so run $2
six.so six $((6 * $2))
CALLS
  cmp -s found wanted || fail "$3: $(diff found wanted | paste -sd ' ')"
}

for host in host host.prof; do
  for times in 1 6 "$(few_or_all 2000 10000)"; do
    together $host $times
    these "$(echo profiles/prof.*)" $times "$host, $times times"
  done
  for times in 6 1000; do
    together $host $times fork
    these profiles/prof."$(sed -n 's/^parent \([0-9]*\) .*/\1/p' stdout)" $((2 * times)) "$host, $times times, forked"
    these profiles/prof."$(sed -n 's/^child \([0-9]*\) .*/\1/p' stdout)" $times "child of $host, $times times"
  done
done
