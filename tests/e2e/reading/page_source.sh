# The source in the page that prof --html --with-source writes, without a browser: it is what prof --annotate and prof --disassemble
# print, it is safe whatever stands in it, it has an end, and without the option nothing of it is in the page.
. "${0%/*}/../common.inc"
export PYTHONDONTWRITEBYTECODE=1

# sourced PROF-ARGUMENT...: a page, page.html, with the source as prof prints it.
sourced() {
  rm -f page.html
  run prof --html page.html --with-source "$@"
  [ "$status" = 0 ] && [ -s page.html ] || fail "prof --html --with-source $*: $status $(cat stderr)"
  prof --annotate "$@" >annotation 2>remarks && prof --disassemble '*' "$@" >disassembly 2>>remarks || fail "prof --annotate $*: $(cat remarks)"
  python3 "$tests/page/sources.py" page.html annotation disassembly >said 2>&1 || fail "$*: $(tail -n 3 said)"
}

# Of samples from outside, with inlined functions in rows of their own.
compile inlined "$programs/recursion.c" -O2 -g
mkdir sampled
run prof run --dir sampled/of --html page.html --with-source ./inlined
[ "$status" = 0 ] && grep -qa '<template class="source">' page.html || fail "prof run --html --with-source: $status $(cat stderr)"
sourced sampled/of
grep -q 'libc' stderr && fail "libraries are not shown, but told of: $(cat stderr)"

# With exact times of calls, and counts of blocks; without these counts; and without times.
compile recursion "$programs/recursion.c" -O1 -g -fno-inline -fno-optimize-sibling-calls
rewrite recursion -b
for type in time count sample; do
  PROFTYPE=$type profiled recursion
  sourced recursion.prof recursion.profiles/prof.*
done
rewrite recursion
profiled recursion
sourced recursion.prof recursion.profiles/prof.*
grep -q 'blocks were not counted' remarks || fail "uncounted blocks are not told: $(cat remarks)"

# Nothing of it without the option.
prof --html without.html recursion.prof recursion.profiles/prof.* 2>stderr || fail "prof --html: $(cat stderr)"
grep -qa '<template class="source">' without.html && fail "the source is in a page unasked"
[ "$(stat -c %s without.html)" -lt "$(stat -c %s page.html)" ] || fail "the page without the source is not smaller"

# A file of which only samples tell: no function begins there, and nobody counted blocks. And a program that is not there, of which
# the copy's code is shown.
cat >heavy.h <<'C'
static inline __attribute__((always_inline)) void heavy(void) {
  for (volatile int i = 0; i < 100000000; i++) {
  }
}
C
printf '%s\n' '#include "heavy.h"' 'int main(void) {' '  heavy();' '  return 0;' '}' >heavy.c
compile heavy heavy.c -O1 -g -I.
rewrite heavy
PROFTYPE=sample profiled heavy
sourced heavy.prof heavy.profiles/prof.*
grep -q '^/.*/heavy\.h$' annotation || fail "no heavy.h: $(cat annotation)"
mv heavy gone
sourced heavy.prof heavy.profiles/prof.*
grep -q '^prof: heavy.*: the file that was rewritten is not there; shown is its code in the copy' stderr || fail "code of the copy is not told: $(cat stderr)"

# A hostile source: it ends no element, and turns no order of letters around. And one that is not there.
printf '%s\n' 'static volatile int sum;' \
  '__attribute__((noipa)) void one(int n) { sum += n; } // </script></template><script>alert(1)</script><img src=x onerror=alert(1)>' \
  $'__attribute__((noipa)) void two(int n) { one(n), one(n); } // \e[2J\xe2\x80\xae\x9b&lt; \\ \ttab' \
  '#include "gone.h"' 'int main(void) {' '  for (int i = 0; i < 100000; i++) one(i);' '  two(1), gone();' '  return 0;' '}' >'<b onclick=x>.c'
echo '__attribute__((noipa)) void gone(void) { sum += 2; }' >gone.h
compile hostile '<b onclick=x>.c' -O1 -g -I.
rm gone.h
rewrite hostile -b
profiled hostile
sourced hostile.prof hostile.profiles/prof.*
grep -qa 'alert(\|onerror\|onclick' page.html && fail "source is in the page as it is"
grep -q 'gone.h: the source is not there' stderr || fail "a source that is not there: $(cat stderr)"

# There is an end to it.
{
  echo '#include <stdio.h>'
  echo 'int first(int n) { return n + 1; }'
  yes "// $(printf '%0200d' 0)" | head -n 90000
  echo 'int last(int n) { return n + 2; }'
} >long.h
printf '%s\n' '#include "long.h"' 'int main(void) {' '  return first(1) + last(1) - 5;' '}' >long.c
compile long long.c -O0 -g -I.
rewrite long -b
profiled long
run prof --html page.html --with-source long.prof long.profiles/prof.*
[ "$status" = 0 ] || fail "a long source: $status $(cat stderr)"
PYTHONPATH=$tests/page python3 - >said <<'PY' || fail "a long source"
import contents, sources, sys
sys.argv[1:] = ["page.html"]
profiles, _, source = contents.check_safe("page.html")
page = sources.Sources(source, contents.Profile(profiles[0]).content["functions"]["name"])
for file in page.files:
    print(file["path"].split("/")[-1], file["cut"], file["text"] is not None, len(file["text"] or "") <= 16 << 20, file["lines"].get(90003, [0])[0])
print(*page.remarks, sep="\n")
PY
grep -q "^long.h True True True \['1'" said || fail "a long source is not cut, or its last line lost: $(cat said)"
grep -q '^the page has 16 MB of source, of the files with most time; [12] files* \(is\|are\) cut off' said || fail "no remark on a source that is cut: $(cat said)"
[ "$(stat -c %s page.html)" -lt 2000000 ] || fail "it is not compressed"

# What does not go together.
for options in "--with-source" "--html x.html --with-source -t" "--html x.html --with-source --focus main"; do
  run prof $options hostile.prof hostile.profiles/prof.*
  [ "$status" = 2 ] && grep -q -- '--with-source' stderr && [ ! -e x.html ] || fail "prof $options: $status $(cat stderr)"
done
