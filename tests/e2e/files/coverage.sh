# How much of the code has hooks is told in bytes: numbers of functions would say that nearly all have, where most code is in no
# function that is known.
. "${0%/*}/../common.inc"

cat >known.c <<'C'
#include "calls.h"
static volatile int sum;
KEPT int known(int n) { return sum += n; }
int main(int argc, char** argv) { return known(argc) - (argv == 0) - 1; }
C
# Bytes that are no instructions in this mode, so no search for functions ever finds one there.
cat >blob.s <<'S'
    .text
    .balign 16
blob:
    .fill 20000, 1, 0x06
    .section .note.GNU-stack
S
compile small known.c -O1
compile large known.c blob.s -O1

# code PROGRAM KEY: so many bytes of the program's code, by its report.
code() { jq ".code.$2" "$1.report"; }
# A program whose functions all have hooks: nothing is said, though its start-up code is in no function.
rewrite small
! readelf -SW small.prof | grep -qF .prof.coverage || fail "a section tells of full coverage"
profiled small
prof small.prof small.profiles/prof.* >table
! grep -q 'no hooks' table || fail "prof: $(head -n 3 table)"
[ "$(code small unknown)" -lt 4096 ] && [ "$(code small hooked)" -gt 20 ] || fail "small: $(jq -c .code small.report)"
# All of the executable bytes are counted.
text=$(readelf -SW small | awk '/ AX /{ sub(/.*\] /, ""); sum += strtonum("0x" $5) } END { print sum }')
counted=$(jq '.code | add' small.report)
[ "$counted" -ge "$text" ] && [ "$counted" -lt $((text + 256)) ] || fail "small: $counted bytes are counted, of $text"

# Most of the code is in no function that is known.
run profld --report large.report -o large.prof large
[ "$status" = 0 ] && [ ! -s stdout ] || fail "large: $(cat stderr)"
grep -qE '^profld: large: less than 1 % of the code is in functions with hooks: 20[0-9]{3} bytes are in no function that is known' stderr ||
  fail "large: $(cat stderr)"
[ "$(wc -l <stderr)" = 1 ] || fail "large: $(cat stderr)"
[ "$(code large unknown)" -ge 20000 ] && [ "$(code large unknown)" -lt 21000 ] || fail "large: $(jq -c .code large.report)"
run profld -q -o large.prof large
[ "$status" = 0 ] && [ ! -s stderr ] || fail "-q: $(cat stderr)"
run profld -v -o large.prof large
grep -qE '^code: [0-9]+ bytes in these functions, .* 20[0-9]{3} in no function that is known$' stderr || fail "-v: $(cat stderr)"
profiled large
run prof large.prof large.profiles/prof.*
[ "$status" = 0 ] && [ ! -s stderr ] && sed -n 3p stdout | grep -qx 'not shown: nearly all of the code of large, which has no hooks' ||
  fail "prof: $(cat stderr stdout)"
prof --json large.prof large.profiles/prof.* >json
[ "$(jq -c '.code[0] | del(.module)' json)" = "$(jq -c .code large.report)" ] && [ "$(jq -r '.code[].module' json)" = large ] ||
  fail "--json: $(jq -c .code json)"

# What the user leaves out is not missing.
profld --report small.report -o small.prof -F main small
[ "$(code small not_chosen)" -gt 0 ] && [ "$(code small stays)" -lt 100 ] || fail "-F: $(jq -c .code small.report)"

