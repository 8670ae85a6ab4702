# prof --annotate and --disassemble say which line and which instruction took the time, where there are samples.
. "${0%/*}/../common.inc"

unset XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH DEBUGINFOD_URLS
export HOME=$PWD/home
cat >program.c <<'C'
#define KEPT __attribute__((noinline))
static inline unsigned twice(unsigned n) {
  for (volatile unsigned i = 0; i < 40000000; ++i) ++n; // in twice
  return n;
}
KEPT static unsigned work(unsigned n) {
  for (volatile unsigned i = 0; i < 20000000; ++i) ++n; // in work
  return twice(n);
}
// Long enough for some hundred samples where there are 250 a second.
int main(int argc, char** argv) {
  unsigned n = 0;
  (void)argv;
  for (int i = 0; i < 25; ++i) n += work(argc + i); // never long
  return n == 0;
}
C

# milliseconds PATTERN: of the line of stdout that matches it; the middle of a range; 0 of no time.
milliseconds() {
  PATTERN=$1 perl -ne '
    next unless /$ENV{PATTERN}/;
    my %unit = (ns => 1e-6, us => 1e-3, ms => 1, s => 1e3);
    /(?:^|\s)([\d.]+)(?:-([\d.]+))?(ns|us|ms|s)\s/ or print("0\n"), exit;
    print +(defined $2 ? ($1 + $2) / 2 : $1) * $unit{$3}, "\n";
    exit' stdout
}

# annotated ARGUMENT...: two thirds of the time are of the line in twice, one third of that in work.
annotated() {
  run prof --annotate "$@"
  [ "$status" = 0 ] || fail "$*: $status $(cat stderr)"
  awk -v work="$(milliseconds '// in work')" -v twice="$(milliseconds '// in twice')" -v other="$(milliseconds '// never long')" \
    'BEGIN { exit !(work > 5 && twice / (work + twice) > 0.5 && twice / (work + twice) < 0.8 && other < 0.05 * twice) }' ||
    fail "$*: $(cat stdout)"
  # Of libraries, which were not asked for, there is nothing, whatever debug information they have.
  [ "$(grep -c 'Executions' stdout)" = 1 ] && grep -q '/program.c: ' stdout || fail "$*: other files: $(grep -A1 '^[^ ]*: ' stdout)"
}
compile program program.c -O2 -g
run prof run ./program
[ "$status" = 0 ] || fail "prof run: $status $(cat stderr)"
annotated prof.*
# The instructions of a function have its time.
run prof --disassemble work prof.*
[ "$status" = 0 ] && head -n 2 stdout | grep -q '^Executions  *Self  *Address  *Distance$' || fail "--disassemble: $status $(cat stdout stderr)"
mv stdout instructions
run prof --json --no-inlined prof.*
perl -e '
  my %unit = (ns => 1e-9, us => 1e-6, ms => 1e-3, s => 1);
  my ($whole) = @ARGV;
  open my $file, "<", "instructions" or die;
  my $sum = 0;
  while (<$file>) { $sum += (defined $2 ? ($1 + $2) / 2 : $1) * $unit{$3} if /^ *\d+ +([\d.]+)(?:-([\d.]+))?(ns|us|ms|s) / }
  die "$sum of $whole s\n" unless $sum > 0.8 * $whole && $sum < 1.3 * $whole' \
  "$(jq '.tsc_hz as $hz | .functions[] | select(.name == "work") | .self_cycles / $hz' stdout)" 2>said ||
  fail "--disassemble: $(cat said instructions)"

# A copy that is run by hand samples itself.
rewrite program -b --no-hooks
profiled program
annotated program.prof program.profiles/prof.*

# With hooks there are no samples: the time is that of the function, where it begins.
run prof run -b --type time --annotate ./program
[ "$status" = 0 ] && mv stderr stdout || fail "hooks: $status $(cat stderr)"
[ "$(milliseconds 'KEPT static unsigned work')" != 0 ] && [ "$(milliseconds '// in work')" = 0 ] || fail "hooks: $(cat stdout)"
