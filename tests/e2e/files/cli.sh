# profld's command line.
. "${0%/*}/../common.inc"

cat >small.c <<'C'
#include "calls.h"
static volatile int sum;
KEPT int one(int n) { return sum += n + 1; }
KEPT int two(int n) { return sum += n + 2; }
KEPT int other(int n) { return one(n) + two(n); }
int main(int argc, char** argv) { return other(argc) - (argv == 0) == 7 ? 0 : 1; }
C
compile small small.c -O1

# The output's default place is the current directory, whatever the program's.
mkdir else
cp small else/program
run profld else/program
[ "$status" = 0 ] && [ -x program.prof ] && [ ! -e else/program.prof ] || fail "default output: $status $(cat stderr)"
[ ! -s stdout ] && [ ! -s stderr ] || fail "says something: $(cat stdout stderr)"
[ "$(stat -c %a program.prof)" = "$(stat -c %a small)" ] || fail "mode $(stat -c %a program.prof)"

run profld --help
[ "$status" = 0 ] && grep -q '^usage: profld ' stdout && [ ! -s stderr ] || fail "--help: $status"
# The usage has all the options that are listed below it.
sed -n '/^usage/,/^Write/p' stdout >usage
grep -oE '^ +(-[A-Za-z]|--[a-z-]+)' stdout | grep -vx -e ' *-[hV]' >listed
[ "$(wc -l <listed)" -gt 8 ] || fail "--help lists no options"
while read -r option; do grep -qE -e "\[?$option( |\[|\])" usage || fail "the usage line has no $option"; done <listed
run profld --version
[ "$status" = 0 ] && [ "$(cat stdout)" = "profld $version" ] && [ ! -s stderr ] || fail "--version: $status $(cat stdout)"

run profld -h
[ "$status" = 0 ] && cmp -s stdout <(profld --help) || fail "-h: $status $(cat stderr)"
run profld -V
[ "$status" = 0 ] && [ "$(cat stdout)" = "profld $version" ] || fail "-V: $status $(cat stdout)"
# A command or option that is mistyped is asked about.
run prof rum ./small
[ "$status" = 2 ] && [ "$(cat stderr)" = "prof: rum: no such command or file; did you mean prof run?" ] || fail "prof rum: $status $(cat stderr)"
run prof run --tipe time ./small
[ "$status" = 2 ] && grep -q -e '--tipe: no such option; did you mean --type' stderr || fail "--tipe: $status $(cat stderr)"

# A line of help fits a terminal.
for command in profld prof "prof run" "prof top" "prof tui" "prof ctl" "prof diff" "prof compare" "prof trace" proftarget "prof itrace" "prof istat"; do
  # shellcheck disable=SC2086 # a list of words
  run $command -h
  [ "$status" = 0 ] && [ -s stdout ] && [ ! -s stderr ] || fail "$command -h: $status $(cat stderr)"
  # shellcheck disable=SC2086
  cmp -s stdout <($command --help) || fail "$command --help is not $command -h"
  [ "$(wc -L <stdout)" -le 80 ] || fail "$command --help: $(awk 'length > 80' stdout | head -n 1)"
done
run prof -V
[ "$status" = 0 ] && [ "$(cat stdout)" = "prof $version" ] || fail "prof -V: $(cat stdout)"

# Usage errors: status 2, nothing written.
for arguments in "" "--nonsense small" "-o" "small small" "-F" "--report"; do
  # shellcheck disable=SC2086
  run profld $arguments
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "profld $arguments: $status $(cat stderr)"
done
[ ! -e small.prof ] || fail "a usage error left small.prof"
cp small ./-dash
run profld -o dash.prof -- -dash
[ "$status" = 0 ] && [ -x dash.prof ] || fail "-- -dash: $(cat stderr)"

# Functions by name pattern.
names() { prof --json small.prof small.profiles/prof.* | jq -r '[.functions[] | select(.calls > 0) | .name] | sort | join(" ")'; }
select_functions() {
  local expected=$1
  shift
  rewrite small "$@"
  profiled small
  [ "$(names)" = "$expected" ] || fail "profld $*: calls of $(names), not $expected"
}
select_functions "one two" -F one -F two
select_functions "one" -F 'o*' -N 'other'
select_functions "main other" -F main -F '[a-z]*' -N 'one' -N 'tw?' -N '_*' -N '*_*'

select_functions "one" --only 'o*' --not 'other'

# Long words mean what letters do; of --imports and --no-imports the last one counts.
for other in "--output long.prof" "--no-imports --imports -o long.prof" "--all -o long.prof"; do
  profld -o short.prof small
  # shellcheck disable=SC2086 # a list of words
  profld $other small
  cmp short.prof long.prof || fail "$other makes another file"
done
profld -v -o long.prof small 2>short
run profld --verbose -o long.prof small
cmp short stderr || fail "--verbose: $(cat stderr)"
run profld --quiet -N nothing -o long.prof small
[ "$status" = 0 ] && [ ! -s stderr ] || fail "--quiet: $(cat stderr)"
run profld -N nothing -o long.prof small
[ "$status" = 0 ] && grep -q '^profld: small: -N nothing: matches no function' stderr || fail "without --quiet: $(cat stderr)"

# What happened, as JSON and with -v.
rewrite small
jq -e '.functions_total >= 4 and .functions_instrumented >= 4 and .returns >= 4 and (.tail_jumps | type) == "number" and
  (.jump_tables | type) == "number" and (.skipped | type) == "array" and
  all(.skipped[]; (.name | type) == "string" and (.address | test("^0x[0-9a-f]+$")) and (.reason | length) > 5)' small.report >/dev/null ||
  fail "report: $(cat small.report)"
run profld -v -o small.prof small
[ "$status" = 0 ] && [ -s stderr ] && [ ! -s stdout ] || fail "-v: $status"
