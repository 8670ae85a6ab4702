# prof --inlined tells where functions stand in the source and what was inlined into them, if there is debug information; and
# a function that has most of the time because others were inlined into it is told of.
. "${0%/*}/../common.inc"

export HOME=$PWD/home
unset XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH DEBUGINFOD_URLS
cat >program.cc <<'END'
#include <cstdio>
namespace numbers {
struct Sequence {
  long n;
  [[gnu::always_inline]] bool is_even() const {
    volatile long m = n;
    return m % 2 == 0;
  }
  [[gnu::always_inline]] void step() { n = is_even() ? n / 2 : 3 * n + 1; }
};
}
[[gnu::always_inline]] inline long length(long from) {
  numbers::Sequence s{from};
  long n = 0;
  for (; s.n != 1; ++n) s.step();
  return n;
}
[[gnu::noinline]] long twice(long n) {
  return length(n) + length(n + 1);
}
int main() {
  long all = 0;
  for (long n = 1; n < 40000; ++n) all += twice(n);
  return all == 0;
}
END

# shown PROGRAM OPTION...: runs it, and shows its profile in stdout.
shown() {
  local program=$1
  shift
  rm -rf profiles
  mkdir profiles
  PROFDIR=profiles "./$program.prof" || fail "$program.prof: exit status $?"
  run prof "$@" profiles/prof.*
  [ "$status" = 0 ] || fail "prof $*: exit status $status; $(cat stderr)"
}

# lists_all WHAT: stdout has the functions inlined into twice, with places and lines.
lists_all() {
  awk -F'\t' -v what="$1" '
    $2 ~ /^twice/ { inside = 1; next }
    inside && $2 !~ /^  / { exit }
    inside {
      if ($2 ~ /^  program\.cc:18$/) ++found
      if ($2 ~ / % length\(long\)  program\.cc:12, 2 places$/) ++found
      if ($2 ~ / % numbers::Sequence::step\(\)  program\.cc:9, 2 places$/) ++found
      if ($2 ~ / % numbers::Sequence::is_even\(\) const  program\.cc:5, 2 places$/) ++found
      if ($2 ~ /%/) all += $2
    }
    END { if (found != 4 || all <= 0 || all > 100.2) { printf "%s: %d lines, %g %%\n", what, found, all; exit 1 } }' stdout ||
    fail "$1: not all of what was inlined is listed: $(cat stdout)"
}

for compiler in gcc clang; do
  for flags in "-g" "-gdwarf-4" "-g -gz"; do
    # shellcheck disable=SC2086 # several flags
    CC=$compiler compile inlines program.cc -O1 $flags
    rewrite inlines
    shown inlines --inlined
    lists_all "$compiler $flags"
    [ ! -s stderr ] || fail "$compiler $flags: prof --inlined says: $(cat stderr)"
    head -n 1 stdout | grep -q 'Its time is of all together' || fail "prof --inlined does not say whose the time is"
  done
done

# What JSON says agrees with the debug information as another program reads it.
prof --json --inlined profiles/prof.* >json || fail "prof --json --inlined"
jq -e --arg file "$PWD/program.cc" '.functions[] | select(.name | startswith("twice")) |
  .line == 18 and (.file | endswith("program.cc")) and (.inlined | length) == 3 and ([.inlined[].code_bytes] | add) <= .code_bytes and
  any(.inlined[]; .name == "length(long)" and .line == 12 and .places == 2 and (.file | endswith("program.cc")))' json >/dev/null ||
  fail "JSON: $(jq -c '.functions[0]' json)"
bytes=$(nm -S inlines | sed -n 's/^[0-9a-f]* 0*\([0-9a-f]*\) T _Z5twicel$/\1/p')
jq -e --argjson bytes $((16#$bytes)) 'any(.functions[]; .code_bytes == $bytes)' json >/dev/null || fail "JSON: not as many bytes of code as the symbol has"
prof --json profiles/prof.* | jq -e 'all(.functions[]; has("inlined") | not)' >/dev/null || fail "JSON has inlined functions unasked"
prof --json --inlined --raw-names profiles/prof.* | jq -e 'any(.functions[].inlined[]?; .name == "_Z6lengthl")' >/dev/null || fail "--raw-names: demangled"

# The function that has most of the time is told of; but not if nobody knows what was inlined.
shown inlines
grep -q '^prof: twice(long) is [0-9]* %: 3 functions were inlined into it; prof --inlined lists them$' stderr || fail "prof does not say that functions were inlined: $(cat stderr)"
run prof --json profiles/prof.*
[ ! -s stderr ] || fail "prof --json says: $(cat stderr)"
strip -g -o bare inlines
rewrite bare
shown bare
[ ! -s stderr ] || fail "without debug information prof says: $(cat stderr)"
run prof --inlined profiles/prof.*
grep -q '^prof: bare: there is no debug information; compile with -g' stderr || fail "prof --inlined does not say that there is no debug information: $(cat stderr)"
grep -q '	twice(long)$' stdout || fail "prof --inlined shows nothing without debug information"

# In a separate debug file, by .gnu_debuglink and by build-id.
objcopy --only-keep-debug inlines inlines.debug
objcopy --add-gnu-debuglink=inlines.debug bare
rewrite bare
shown bare --inlined
lists_all "a debug file"
strip -o stripped inlines
id=$(readelf -n inlines | sed -n 's/.*Build ID: //p')
mkdir -p "debug/.build-id/${id:0:2}"
mv inlines.debug "debug/.build-id/${id:0:2}/${id:2}.debug"
rewrite stripped
shown stripped --inlined --debug-dir debug
lists_all "a stripped program"
[ ! -s stderr ] || fail "a stripped program: prof --inlined says: $(cat stderr)"

# A part of it is in a third file, which dwz made of two debug files; in another's file nothing is looked up.
CC=gcc compile one program.cc -O1 -g -Wl,--build-id
CC=gcc compile two program.cc -O1 -g -DTWO -Wl,--build-id
dwz -m common.dwz -M common.dwz one two || fail "dwz"
readelf -S one | grep debugaltlink >/dev/null || fail "dwz moved nothing"
rewrite one
shown one --inlined
lists_all "dwz"
id=$(readelf -n common.dwz | sed -n 's/.*Build ID: //p')
mkdir -p "debug/.build-id/${id:0:2}"
mv common.dwz "debug/.build-id/${id:0:2}/${id:2}.debug"
shown one --inlined
grep -q '^prof: one: a part of its debug information, which dwz moved to common.dwz, is not there$' stderr || fail "prof does not miss the file of dwz: $(cat stderr)"
shown one --inlined --debug-dir debug
lists_all "dwz by build-id"
cp two common.dwz
shown one --inlined
grep -q 'which dwz moved' stderr || fail "prof takes another file for that of dwz: $(cat stderr)"

# Other views have no room for it. prof run has.
run prof -d --inlined profiles/prof.*
[ "$status" = 2 ] && grep -q -e '--inlined is not supported with the tree; it goes with the table and --json' stderr || fail "prof -d --inlined: exit status $status; $(cat stderr)"
mkdir runs && cd runs || fail "no folder"
run prof run --type time --inlined ../inlines
grep -q ' % length(long)  program.cc:12, 2 places$' stderr || fail "prof run --inlined: $(cat stderr)"
# Samples tell where the time of a function is: in a few bytes of it.
cat >hot.c <<'C'
static inline __attribute__((always_inline)) unsigned cold(unsigned n) {
  for (int i = 0; i < 3; ++i) { n ^= n << 13; n ^= n >> 17; n ^= n << 5; n *= 2654435761u; n ^= n >> 16; n *= 2246822507u; n ^= n >> 13; }
  return n;
}
static inline __attribute__((always_inline)) unsigned hot(unsigned n) {
  for (volatile int i = 0; i < 300000000; ++i) continue;
  return n;
}
int main(int argc, char** argv) { return (cold(argc) + hot(argc)) == 1; }
C
compile hot hot.c -O1 -g
run prof run --inlined ./hot
grep -qE ' (9[0-9]\.[0-9]|100\.0) % hot  hot.c:5$' stderr && grep -qE '^[^%]* 0\.[0-9] % cold  hot.c:1$' <(expand stderr) || fail "samples: $(cat stderr)"
rm -f prof.*
cd ..

# Damaged debug information is shown as far as it goes; prof does not crash.
for part in 1 2 3 4 5 6 7 8 9; do
  cp inlines.prof damaged.prof
  offset=$(readelf -SW damaged.prof | sed -n 's/.*\.debug_info *PROGBITS *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')
  printf '\377\377\377\377\377\377\377' | dd of=damaged.prof bs=1 seek=$((16#$offset + part * 37)) conv=notrunc status=none
  run prof --inlined ./damaged.prof profiles/prof.*
  [ "$status" -lt 2 ] || fail "damaged debug information, at $part: exit status $status"
done
