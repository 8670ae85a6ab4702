# prof -G --propagated prints what gprof prints, to the blank; prof -G what was measured, and prof --fallacy the difference.
. "${0%/*}/../common.inc"

cat >cycles.c <<'C'
#define WORK __attribute__((noipa)) static int
WORK leaf(int k) { for (volatile int i = 0; i < 2000; i = i + 1) k ^= i; return k; }
int odd(int), third(int);
__attribute__((noipa)) int even(int k) { return leaf(k) + (k > 0 ? odd(k - 1) : 0); }
__attribute__((noipa)) int odd(int k) { return k > 0 ? third(k - 1) + (k % 3 ? even(k - 1) : 0) : 0; }
__attribute__((noipa)) int third(int k) { return leaf(k) + (k > 0 ? even(k - 1) : 0); }
WORK alone(int k) { return k ? alone(k - 1) + leaf(k) : 0; }
int ping(int);
WORK pong(int k) { return k ? ping(k - 1) : alone(2); }
__attribute__((noipa)) int ping(int k) { return leaf(k) + (k ? pong(k - 1) : 0); }
WORK part(int k) __asm__("ping.part.0");
WORK part(int k) { return leaf(k) + pong(k % 5); }
int main(void) { int sum = 0; for (int i = 0; i < 20; ++i) sum += even(9) + alone(20) + pong(i) + part(i); return sum == 42; }
C
# equal PROGRAM: its profile as gprof shows it and as prof does.
equal() {
  # Both at once: how many ticks a second of a short run has is known the better the longer ago that was.
  run prof -G --propagated -g gmon.out "$1" "$1.profiles"/prof.*
  [ "$status" = 0 ] || fail "$1: prof -G -g: $(cat stderr)"
  gprof -b "$1" gmon.out >gprof.report 2>gprof.log || fail "$1: gprof: $(cat gprof.log)"
  cmp -s stdout gprof.report || fail "$1: $(diff stdout gprof.report | head -n 8)"
  run prof -G "$1" gmon.out
  [ "$status" = 0 ] || fail "$1: prof -G of a gmon.out: $(cat stderr)"
  cmp -s stdout gprof.report || fail "$1: of a gmon.out: $(diff stdout gprof.report | head -n 8)"
  programs_seen=$((programs_seen + 1))
  grep -q 'as a whole' gprof.report && cycles_seen=$((cycles_seen + 1))
  grep -qE '[0-9]\+[0-9]+ +[a-z]' gprof.report && recursion_seen=$((recursion_seen + 1))
}

# show PROGRAM: rewrites it, runs the copy, and compares.
show() {
  profld -o "$1.prof" "$1" >profld.log 2>&1 || fail "profld $1: $(cat profld.log)"
  mkdir -p "$1.profiles"
  PROFDIR=$1.profiles "./$1.prof" >/dev/null 2>&1 </dev/null
  equal "$1"
}

programs_seen=0 cycles_seen=0 recursion_seen=0
for source in aliases.c asm.c clones.c code_as_data.c cold.c computed_goto.c contexts.c jump_to_end.c lookalikes.c nested.c \
  nonlocal_goto.c products.c recursion.c setjmp.c shapes.c switch.c tail_calls.c threads.c two_level.c values.c varargs.c \
  evaluator.cc exceptions.cc objects.cc ifunc.c; do
  compile "${source%.c*}" "$programs/$source" -O1 -g
  show "${source%.c*}"
done
compile cycles cycles.c -O1 -no-pie
show cycles
if [ "$programs_seen" -lt 20 ] || [ "$cycles_seen" -lt 4 ] || [ "$recursion_seen" -lt 2 ]; then
  fail "only $programs_seen programs, $cycles_seen with cycles, $recursion_seen with recursion"
fi

# What gcc -pg wrote, also of several runs.
compile counted cycles.c -O1 -g -pg
mkdir -p runs
for n in 1 2; do GMON_OUT_PREFIX=runs/$n ./counted; done
gprof -b counted runs/* >gprof.report 2>gprof.log || fail "gprof: $(cat gprof.log)"
run prof -G counted runs/*
[ "$status" = 0 ] && cmp -s stdout gprof.report || fail "gcc -pg: $(cat stderr) $(diff stdout gprof.report | head -n 8)"

# Without symbols, where gprof has none to show.
strip -o stripped cycles
show_stripped() {
  profld -o stripped.prof stripped >profld.log 2>&1 || fail "profld stripped: $(cat profld.log)"
  mkdir -p stripped.profiles
  PROFDIR=stripped.profiles ./stripped.prof
  run prof -G --propagated stripped stripped.profiles/prof.*
  [ "$status" = 0 ] && grep -q 'cycle 2 as a whole' stdout || fail "stripped: $(cat stderr) $(head -n 20 stdout)"
}
show_stripped

# The same function is called cheaply 99 times, and dearly once.
cat >fallacy.c <<'C'
__attribute__((noipa)) int work(int n) { int sum = 0; for (volatile int i = 0; i < n; i = i + 1) sum ^= i; return sum; }
__attribute__((noipa)) int cheap(void) { int sum = 0; for (int i = 0; i < 99; ++i) sum += work(3); return sum; }
__attribute__((noipa)) int dear(void) { return work(60000000) + 1; }
int main(void) { return cheap() + dear() == 7; }
C
compile fallacy fallacy.c -O1
show fallacy
# most_by CALLER FILE: of work's time, the calls by CALLER have more than those by the other, in the entry of work.
most_by() {
  awk -v caller="$1" '/^---/ { delete part } /\/100 / && $(NF - 1) != "work" { part[$(NF - 1)] = $1 + $2 }
    /^\[/ && $(NF - 1) == "work" { found = 1; exit !(part[caller] > 0.9 * (part["cheap"] + part["dear"])) } END { if (!found) exit 1 }' "$2"
}
run prof -G fallacy fallacy.profiles/prof.*
[ "$status" = 0 ] && most_by dear stdout || fail "measured: $(cat stderr stdout)"
run prof -G --propagated fallacy fallacy.profiles/prof.*
[ "$status" = 0 ] && most_by cheap stdout || fail "propagated: $(cat stderr stdout)"
run prof --fallacy -n 2 fallacy fallacy.profiles/prof.*
[ "$status" = 0 ] && [ "$(sed 1,2d stdout | sed 's/.*  //' | sort | paste -sd ,)" = "cheap -> work,dear -> work" ] ||
  fail "prof --fallacy: $(cat stderr stdout)"

# What does not go together.
refused() {
  local message=$1
  shift
  run prof "$@"
  [ "$status" = 2 ] && grep -qF -e "$message" stderr || fail "prof $*: $status $(cat stderr)"
}
refused "--propagated is not supported with the table; it goes with -G" --propagated fallacy.profiles
refused "exclude each other" -G --json fallacy.profiles
refused "exclude each other" -G --fallacy fallacy.profiles
refused "--module" -G --module x fallacy.profiles
refused "--focus" --fallacy --focus work fallacy.profiles
run prof -G gmon.out
[ "$status" = 1 ] && grep -q "a.out" stderr || fail "a gmon.out alone: $status $(cat stderr)"
run prof --fallacy fallacy gmon.out
[ "$status" = 1 ] && grep -q "no tree of calls.*name a profile" stderr || fail "--fallacy of a gmon.out: $status $(cat stderr)"
