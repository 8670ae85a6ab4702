# Exports for other programs: readers of each format find the totals of each function that prof --json says, in a dozen of
# programs and all kinds of profiles; flamegraph.pl and callgrind_annotate open them.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache

totals() { python3 "$tests/export_totals.py" "$@"; }

# agrees EXPECTED ACTUAL SELF TOTAL: each function has the figures that EXPECTED says, as far as ACTUAL has them: self times and
# what was waited with an error of SELF, total times of TOTAL. A function may be missing that took no time.
agrees() {
  awk -F'\t' -v self="$3" -v total="$4" '
    # JSON tells the clock rate in whole hertz, so nanoseconds made of it are off by half of a billionth.
    function differs(a, b, error) {
      if (error > 0) error += b / 2e9
      return a != "-" && b != "-" && (a - b > error || b - a > error)
    }
    FILENAME == ARGV[1] { calls[$1] = $2; times[$1] = $3; all[$1] = $4; waited[$1] = $5; next }
    $1 == "[outside]" || $1 == "..." { next }
    { ++n; seen[$1] = 1 }
    !($1 in calls) || differs($2, calls[$1], 0) || differs($3, times[$1], self) || differs($4, all[$1], total) || differs($5, waited[$1], self) {
      print $0 ", not " calls[$1], times[$1], all[$1], waited[$1]; wrong = 1 }
    END {
      for (name in calls) if (!(name in seen) && times[name] > self) { print name " is missing"; wrong = 1 }
      if (!n) { print "nothing"; wrong = 1 }
      exit wrong
    }' "$1" "$2" >agrees.log || fail "$program: $2: $(head -n 3 agrees.log)"
}

# exported PROGRAM [PROF OPTION...] [PROFILE...]: all exports of PROGRAM.prof agree with JSON. The rate of the time-stamp counter
# is known better after a while if the program ran for a moment only: files of one command have the same, those of another
# may differ by a millionth or so. Totals are sums of rounded times. With $slack times may differ by so much.
slack=0
exported() {
  local program=$1
  shift
  run prof --json --callgrind callgrind.out --pprof profile.pb.gz --speedscope profile.json "$@"
  [ "$status" = 0 ] || fail "$program: prof: $(cat stderr)"
  mv stdout "$program.json"
  totals json "$program.json" >expected || fail "$program"
  totals json_cycles "$program.json" >expected.cycles || fail "$program"
  totals json_folded "$program.json" >expected.folded || fail "$program"
  cp expected expected.csv
  local functions self
  functions=$(wc -l <expected)
  totals pprof profile.pb.gz >pprof && totals speedscope profile.json >speedscope && totals callgrind callgrind.out >callgrind ||
    fail "$program: not in its format"
  agrees expected pprof $((1 + slack)) $((functions + slack))
  agrees expected speedscope $((1 + slack)) $((functions + slack))
  agrees expected.cycles callgrind "$slack" "$slack"
  for format in folded csv; do
    run prof --$format "$@"
    [ "$status" = 0 ] || fail "$program: prof --$format: $(cat stderr)"
    mv stdout "profile.$format"
    totals "$format" "profile.$format" >"$format" || fail "$program: not in its format"
    self=$(awk -F'\t' '{ if ($3 + $5 > most) most = $3 + $5 } END { print slack + 1 + 2 * NR + most / 1e4 }' slack="$slack" expected)
    agrees "expected.$format" "$format" "$self" "$self"
  done
}

# What callgrind_annotate prints, as NAME, inclusive cycles.
annotated() {
  callgrind_annotate --inclusive=yes --show=Cycles --threshold=100 --auto=no callgrind.out >annotate.log 2>annotate.errors && [ ! -s annotate.errors ] ||
    fail "$1: callgrind_annotate: $(head -n 3 annotate.errors)"
  sed -nE 's/^ *([0-9,]+) .*\?\?\?:(.*) \[[^ ]*\]$/\2\t\1/p' annotate.log | tr -d , | grep -v '^\[outside' | sort >annotated
  awk -F'\t' '{ print $1 "\t" $4 }' callgrind | tr -d , | sort | awk -F'\t' '$2 > 0' >wanted
  [ -s wanted ] && diff wanted <(awk -F'\t' '$2 > 0' annotated) >diff.log || fail "$1: callgrind_annotate: $(head -n 4 diff.log)"
}

for source in collatz.c recursion.c products.c shapes.c values.c varargs.c tls.c objects.cc exceptions.cc threads.c setjmp.c contexts.c; do
  program=${source%.*}
  case $program in collatz | recursion | contexts) ;; *) turn || continue ;; esac # these are used below
  compile "$program" "$programs/$source" -O1 -fno-inline -fno-optimize-sibling-calls -Wa,--noexecstack
  rewrite "$program"
  profiled "$program"
  exported "$program" "$program.prof" "$program.profiles"/prof.*
  annotated "$program"
done

# A box for each context and one for all. Which of them took time enough for one is not known, so this is of counts.
PROFTYPE=count profiled contexts
prof --folded contexts.prof contexts.profiles/prof.* >counted.folded 2>prof.log || fail "folded: $(cat prof.log)"
awk '{ sub(/ [0-9]+$/, ""); n = split($0, name, ";"); path = ""; for (i = 1; i <= n; ++i) boxes[path = path ";" name[i]] } END { print length(boxes) + 1 }' \
  counted.folded >boxes
/usr/share/perl5/Devel/NYTProf/flamegraph.pl --countname=calls counted.folded >flames.svg 2>flames.log || fail "flamegraph.pl: $(cat flames.log)"
[ ! -s flames.log ] || fail "flamegraph.pl: $(cat flames.log)"
python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("flames.svg")' || fail "the flame graph is no XML"
[ "$(grep -c '<title>.* calls, ' flames.svg)" = "$(cat boxes)" ] && [ "$(cat boxes)" -gt 10 ] || fail "the flame graph has not $(cat boxes) boxes"

# docs/picture makes one of boxes from the same: each context that is wide enough, with its share.
"$tests/../docs/picture" picture.svg contexts.prof contexts.profiles/prof.* || fail "docs/picture"
python3 - <<'PYTHON' || fail "docs/picture: $(cat picture.svg)"
import collections, xml.dom.minidom
wanted, whole = collections.Counter(), 0
for line in open("counted.folded"):
    chain, count = line.rsplit(" ", 1)
    whole += int(count)
    names = chain.split(";")
    for i in range(len(names) + 1):
        wanted[tuple(names[:i])] += int(count)
shares = sorted(f"{(chain or ('all',))[-1]}: {100 * n / whole:.1f} %" for chain, n in wanted.items() if 900 * n >= 1.5 * whole)
titles = xml.dom.minidom.parse("picture.svg").getElementsByTagName("title")
assert sorted(t.firstChild.data for t in titles) == shares and len(shares) > 5, shares
PYTHON

# All kinds of profiles. Samples find this program in its own code: those that find a program in hooks are nobody's.
cat >sampled.c <<'C'
#define _GNU_SOURCE
#include "thread_timer.h"
volatile unsigned long sum;
__attribute__((noipa)) void burn(int ticks) {
  while (timer_ticks < ticks)
    for (int i = 0; i < 100000; i++) sum += i;
}
__attribute__((noipa)) void twice(void) {
  burn(10);
  burn(20);
}
int main(void) {
  start_thread_timer();
  burn(5);
  twice();
  return 0;
}
C
compile sampled sampled.c -O1
rewrite sampled
PROFTYPE=sample profiled sampled
exported sampled sampled.prof sampled.profiles/prof.*
grep -q '^burn	3	[1-9]' expected || fail "samples: $(cat expected)"
for type in elapsed cpu adaptive; do
  rm -rf recursion.profiles
  PROFTYPE=$type profiled recursion
  cp recursion.profiles/prof.* "recursion.$type"
  exported recursion recursion.prof "recursion.$type"
done
exported recursion recursion.prof recursion.elapsed recursion.cpu
grep -q '^events: Elapsed Processor Calls$' callgrind.out || fail "two runs: $(grep events callgrind.out)"
exported recursion -R recursion.prof recursion.elapsed recursion.elapsed
rm -rf recursion.profiles
PROFTYPE=count profiled recursion
prof --folded --pprof profile.pb.gz --callgrind callgrind.out recursion.prof recursion.profiles/prof.* >profile.folded 2>prof.log || fail "count: $(cat prof.log)"
totals folded profile.folded >folded
grep -q '^fib	-	57313	57313	-$' folded || fail "count: folded: $(cat folded)"
totals pprof profile.pb.gz >pprof.totals
grep -q "^fib	57313	57313	57313	-$" pprof.totals || fail "count: pprof"
totals callgrind callgrind.out >callgrind.totals
grep -q "^fib	57313	57313	57313	-$" callgrind.totals || fail "count: callgrind"

# The graph: recursion's functions with a share, quoted; what is small is left out. Shares are those of calls, which are the
# same everywhere.
run prof --dot recursion.prof recursion.profiles/prof.*
[ "$status" = 0 ] && grep -qE '^f[0-9]+ \[label="main\\n' stdout && [ "$(tail -n 1 stdout)" = "}" ] || fail "--dot: $(cat stdout stderr)"
fib=$(sed -nE 's/^(f[0-9]+) \[label="fib\\n.*/\1/p' stdout)
[ -n "$fib" ] && grep -qE "^$fib -> $fib \[label=\"57312 calls\"" stdout || fail "--dot: recursion: $(cat stdout)"
# dot reads no string of more than 16,384 bytes; names stay different.
part=$(printf 'a%.0s' {1..9000})
cat >long.c <<C
volatile int k;
__attribute__((noipa)) void ${part}1$part(void) { k++; }
__attribute__((noipa)) void ${part}2$part(void) { k++; }
int main(void) { ${part}1$part(), ${part}2$part(); }
C
compile long long.c -O1
rewrite long
mkdir -p long.profiles && PROFTYPE=count PROFDIR=long.profiles ./long.prof || fail "long.prof"
run prof -w --dot long.prof long.profiles/prof.*
[ "$status" = 0 ] && [ "$(wc -L <stdout)" -lt 16384 ] && [ "$(grep -c 'label="aaaa.*\.\.\.' stdout)" = 2 ] &&
  [ -z "$(grep -o 'label="aaaa[^"\\]*' stdout | sort | uniq -d)" ] || fail "--dot, long names: $(cut -c 1-200 stdout stderr)"

# The samples of a function are spread over its contexts, in whole cycles.
run prof run --true --csv --output run.csv ./collatz
[ "$status" = 0 ] && grep -q '^collatz,step,step,0x[0-9a-f]*,62135400,[0-9]*[.][0-9]*[1-9]' run.csv || fail "prof run --true: $status $(cat run.csv stderr)"
slack=1000 exported collatz --true prof.samples collatz prof.[0-9]*
rm -f prof.[0-9]* prof.samples

# Threads and processes apart, a library, and prof run.
# Recursion of one function is folded, that of eleven is deep enough.
cat >library.c <<'C'
#define CALLS(f, g) int g(int); __attribute__((noipa)) int f(int n) { return n > 0 ? g(n - 1) + 1 : 0; }
CALLS(shared, f1) CALLS(f1, f2) CALLS(f2, f3) CALLS(f3, f4) CALLS(f4, f5) CALLS(f5, f6) CALLS(f6, f7) CALLS(f7, f8)
CALLS(f8, f9) CALLS(f9, f10) CALLS(f10, shared)
C
cat >user.c <<'C'
#define _GNU_SOURCE
#include <pthread.h>
int shared(int);
__attribute__((noipa)) void* worker(void* n) {
  pthread_setname_np(pthread_self(), *(int*)n == 800 ? "b;c 7" : "a \"1\", 2");
  return shared(*(int*)n) > 0 ? n : 0;
}
int main(void) {
  static int numbers[] = {900, 800};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], 0, worker, &numbers[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
  return 0;
}
C
gcc -O1 -fno-optimize-sibling-calls -shared -fPIC -o libshared.so library.c || fail "cannot compile library.c"
profld -o copy.so libshared.so 2>profld.log && mv copy.so libshared.so || fail "profld libshared.so: $(cat profld.log)"
compile user user.c -O1 -L. -lshared '-Wl,-rpath,$ORIGIN'
rewrite user
mkdir user.profiles
PROFDIR=user.profiles ./user.prof || fail "user.prof: $?"
exported user user.prof user.profiles/prof.*
grep -q '^shared \[libshared.so\]	155	' csv || fail "library: $(cat csv)"
# The 500th level and those below it are one. (Stacks of what took no time have no line: so calls are counted only.)
mkdir user.counted
PROFTYPE=count PROFDIR=user.counted ./user.prof || fail "user.prof: $?"
prof --folded user.prof user.counted/prof.* >profile.folded 2>prof.log || fail "folded: $(cat prof.log)"
awk '{ n = gsub(/;/, ""); if (n > most) most = n } END { exit !(most == 501) }' profile.folded || fail "folded: too deep"
grep -qF ';...;f5 [libshared.so] ' profile.folded || fail "folded: $(tail -n 1 profile.folded)"
for option in --folded --csv; do
  prof -t $option user.prof user.counted/prof.* >"profile$option" 2>prof.log || fail "-t $option: $(cat prof.log)"
done
[ "$(grep -oE '^process [0-9]+, thread [0-9]+ [^;]*;' profile--folded | sort -u | wc -l)" = 3 ] || fail "-t --folded"
grep -qF ' b\x3bc\x207;worker;' profile--folded || fail "-t --folded: the thread's name: $(cut -c 1-200 profile--folded)"
head -n 1 profile--csv | grep -q '^process,thread,thread_name,module,' || fail "-t --csv: $(head -n 1 profile--csv)"
[ "$(grep -cF '"a ""1"", 2",libshared.so' profile--csv)" = 11 ] || fail "-t --csv: $(cat profile--csv)"
totals csv profile--csv | grep '^shared \[libshared.so\]	155	' >/dev/null || fail "-t --csv: $(totals csv profile--csv)"
rm -f callgrind.out
prof -t --callgrind callgrind.out --pprof profile.pb.gz --speedscope profile.json user.prof user.profiles/prof.* 2>prof.log || fail "-t: $(cat prof.log)"
[ "$(echo callgrind.out*)" = "callgrind.out-01 callgrind.out-02 callgrind.out-03" ] || fail "-t --callgrind: $(echo callgrind.out*)"
for file in callgrind.out-0*; do totals callgrind "$file" || fail "-t --callgrind"; done | awk -F'\t' '/^shared \[/ { n += $2 } END { exit n != 155 }' || fail "-t --callgrind: calls"
grep -q '^thread: [0-9]' callgrind.out-02 || fail "-t --callgrind: $(head callgrind.out-02)"
totals pprof profile.pb.gz | grep '^shared \[libshared.so\]	155	' >/dev/null || fail "-t --pprof"
totals speedscope profile.json >speedscope || fail "-t --speedscope"
[ "$(jq '[.profiles[] | select(.name | endswith(": time"))] | length' profile.json)" = 3 ] || fail "-t --speedscope: $(jq -c '[.profiles[].name]' profile.json)"
run prof --csv --module libshared.so user.prof user.profiles/prof.*
[ "$status" = 0 ] && [ "$(grep -c '^libshared.so,' stdout)" = 11 ] && [ "$(wc -l <stdout)" = 12 ] || fail "--csv --module: $(cat stdout stderr)"

# Where things go, and what excludes what.
prof --csv recursion.prof recursion.elapsed >printed 2>/dev/null
run prof --csv --output named recursion.prof recursion.elapsed
[ "$status" = 0 ] && [ ! -s stdout ] && [ "$(wc -l <named)" = "$(wc -l <printed)" ] || fail "--output: $status $(cat stderr)"
run prof -d --output tree recursion.prof recursion.elapsed
[ "$status" = 0 ] && [ ! -s stdout ] && grep -q '^main:' tree || fail "-d --output: $status $(cat stderr)"
head -c 100 recursion.elapsed >broken
for option in --output --pprof --speedscope --callgrind; do
  run prof --csv $option left recursion.prof broken
  [ "$status" = 1 ] && [ ! -e left ] || fail "$option: a file is left, or status $status"
  run prof --csv $option /dev/full recursion.prof recursion.elapsed
  [ "$status" = 1 ] && grep -qF '/dev/full: ' stderr || fail "$option /dev/full: $status $(cat stderr)"
done
refused() {
  run prof "$@"
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof $*: $status $(cat stdout stderr)"
}
refused --folded --csv recursion.elapsed
refused --dot -t recursion.elapsed
refused --folded --module x recursion.elapsed
refused --pprof left --module x recursion.elapsed
refused --pprof left --output right recursion.elapsed
for option in --pprof -g --gprof-symbols; do refused $option "" recursion.elapsed; done
refused run --report "" ./recursion
for option in --folded --csv --dot; do refused run $option ./recursion; done
[ ! -e left ] && ! compgen -G 'prof.[0-9]*' >/dev/null || fail "something was done in spite of a usage error"
run prof run --type count --folded --output run.folded --pprof run.pb.gz ./recursion
[ "$status" = 0 ] && [ "$(grep -vc '^calls ' stdout)" = "$(grep -vc '^calls ' recursion.stdout)" ] || fail "prof run: $status $(cat stderr)"
! grep -q main stderr || fail "prof run: prints a view: $(cat stderr)"
grep -q '^main;fib' run.folded && totals pprof run.pb.gz | grep '^fib	57313	' >/dev/null || fail "prof run: $(head -n 3 run.folded)"
