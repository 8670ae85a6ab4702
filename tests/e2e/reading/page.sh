# The page that prof --html writes, without a browser (make page opens it in one): it is whole and safe whatever names there are, and
# holds the numbers of prof --json and the rows of the table, in all kinds of profiles.
. "${0%/*}/../common.inc"

# written PROF-ARGUMENT...: a page, page.html, that is as it should be.
written() {
  rm -f page.html
  run prof --json --html page.html "$@"
  [ "$status" = 0 ] && [ -s page.html ] || fail "prof --html $*: $status $(cat stderr)"
  mv stdout json
  PYTHONDONTWRITEBYTECODE=1 python3 "$tests/page/contents.py" page.html json >said 2>&1 || fail "prof --html $*: $(tail -n 3 said)"
}
# tabled PROF-ARGUMENT...: the same, with the rows of the table.
tabled() {
  written "$@"
  prof -w "$@" >table 2>stderr && prof -w --html wide.html "$@" 2>>stderr && prof -w --json "$@" >json || fail "prof $*: $(cat stderr)"
  PYTHONDONTWRITEBYTECODE=1 python3 "$tests/page/contents.py" wide.html json table >said 2>&1 || fail "prof -w $*: $(tail -n 3 said)"
}

# Made-up profiles: threads, waiting, two runs, counts, names of all kinds.
compile profiles "$tests/golden/profiles.cc" -std=c++20 -I"$tests/.." -include "$tests/unit/prof_fixture.h"
./profiles || fail "no profiles were made"
tabled golden prof.100
tabled golden elapsed cpu
# What there is to say of the profile is there, beside JSON, too.
written golden elapsed
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tests/page python3 - >said 2>&1 <<'PY' || fail "remarks beside JSON: $(tail -n 1 said)"
import contents
remarks = contents.Packed(contents.check_safe("page.html")[0][0]).content["remarks"]
assert len(remarks) == 1 and "on a processor" in remarks[0], remarks
PY
tabled golden count
written golden prof.100 prof.101
written -R golden elapsed
written -t golden prof.102
written --processes golden prof.101 prof.102
written --focus visit_all_in_order golden prof.100
written --callers decode golden prof.100

# Times that are estimates: with errors of chance.
compile recursion "$programs/recursion.c" -O1 -fno-inline -fno-optimize-sibling-calls
rewrite recursion
for type in adaptive sample; do
  PROFTYPE=$type profiled recursion
  written recursion.prof recursion.profiles/prof.*
done
# Of samples from outside, and of functions in no context.
run prof run --json --output json --html page.html ./recursion
[ "$status" = 0 ] || fail "prof run --html: $status $(cat stderr)"
PYTHONDONTWRITEBYTECODE=1 python3 "$tests/page/contents.py" page.html json >said 2>&1 || fail "prof run --html: $(tail -n 3 said)"
rm -f page.html
run prof run --type time --html page.html ./recursion
[ "$status" = 0 ] && [ -s page.html ] || fail "prof run --html without a view: $status $(cat stderr)"
grep -q 'Calls' stderr && fail "a table was printed beside the page: $(cat stderr)"

# Names that would end the page's elements, or turn the order of letters around.
cat >hostile.c <<'C'
#define KEPT __attribute__((noipa))
static volatile int sum;
KEPT void one(int n) { sum += n; }
KEPT void two(int n) { one(n), one(n); }
int main(void) {
  for (int i = 0; i < 1000; i++) one(i);
  two(1);
  return 0;
}
C
compile hostile hostile.c -O1
objcopy --redefine-sym one="</script></template><script>alert(1)</script><img src=x onerror='alert(\"1\")'>" \
  --redefine-sym two=$'t\e[2Jw\xe2\x80\xaeo\x9b&lt;\n' hostile '<b onclick=x>' || fail "objcopy"
profld -o hostile.prof ./'<b onclick=x>' 2>stderr || fail "profld: $(cat stderr)"
mkdir hostile.profiles
PROFTYPE=count PROFDIR=hostile.profiles ./hostile.prof
written hostile.prof hostile.profiles/prof.*
grep -qa 'alert(\|onerror\|onclick' page.html && fail "a name is in the page as it is"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tests/page python3 - >names <<'PY' || fail "the names of the page"
import contents
profiles, _ = contents.check_safe("page.html")
print("\n".join(contents.Profile(profiles[0]).content["functions"]["name"]))
PY
grep -qF "</script></template><script>alert(1)</script><img src=x onerror='alert(\"1\")'>" names &&
  grep -qF 't\x1b[2Jw\xe2\x80\xaeo\x9b&lt;\x0a' names || fail "names: $(cat -v names)"

# What cannot be written or shown is said, and no file is left.
run prof --html /nowhere/page.html hostile.prof hostile.profiles/prof.*
[ "$status" = 1 ] && grep -q '^prof: /nowhere/page.html: No such file' stderr || fail "a folder that is not there: $status $(cat stderr)"
run prof --html left.html --focus no_such_function hostile.prof hostile.profiles/prof.*
[ "$status" = 1 ] && [ ! -e left.html ] || fail "a page was left: $status $(cat stderr)"
run prof --html /dev/full hostile.prof hostile.profiles/prof.*
[ "$status" = 1 ] && grep -q '/dev/full: No space left' stderr || fail "a full disk: $status $(cat stderr)"
run prof --html page.html --function one hostile.prof hostile.profiles/prof.*
[ "$status" = 2 ] && grep -q -- '--function.*--html' stderr || fail "--function: $status $(cat stderr)"
