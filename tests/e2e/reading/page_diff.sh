# The page that prof diff --html writes, without a browser (make page opens it in one): it has the numbers of prof diff --json and the
# texts of the table, it is safe whatever names there are, and what makes no sense in it is refused.
. "${0%/*}/../common.inc"
export PYTHONDONTWRITEBYTECODE=1

# written PROF-ARGUMENT...: a page, page.html, that is as it should be.
written() {
  rm -f page.html
  run prof diff -w --json --html page.html "$@"
  [ "$status" = 0 ] && [ -s page.html ] || fail "prof diff --html $*: $status $(cat stderr)"
  mv stdout json
  python3 "$tests/page/two_profiles.py" page.html json >said 2>&1 || fail "prof diff --html $*: $(tail -n 3 said)"
}
# tabled PROF-ARGUMENT...: the same, with the texts of the table. Of a run that has just been, prof learns more of the clock between the
# two, and the last digit of a time may change: profiles are made up, or have no times.
tabled() {
  written "$@"
  prof diff -w "$@" >table 2>stderr || fail "prof diff $*: $(cat stderr)"
  python3 "$tests/page/two_profiles.py" page.html json table >said 2>&1 || fail "prof diff -w --html $*: $(tail -n 3 said)"
}

compile profiles "$tests/golden/profiles.cc" -std=c++20 -I"$tests/.." -include "$tests/unit/prof_fixture.h"
./profiles || fail "no profiles were made"
tabled golden prof.100 golden prof.101
tabled golden prof.101 prof.102 -- golden prof.100 prof.101
written golden prof.100 golden prof.100
# What there is to say of the profiles is in the page, beside JSON, too.
for view in "" --json; do
  # shellcheck disable=SC2086
  prof diff $view --html page.html golden elapsed golden elapsed >stdout 2>stderr || fail "prof diff $view --html: $(cat stderr)"
  PYTHONPATH=$tests/page python3 - >said 2>&1 <<'PY' || fail "remarks of prof diff $view --html: $(tail -n 1 said)"
import contents
remarks = contents.Packed(contents.check_safe("page.html")[0][0]).content["remarks"]
said = [line.removeprefix("prof: ") for line in open("stderr", encoding="utf-8").read().splitlines()]
assert len(remarks) == 2 and "on a processor" in remarks[0] and remarks == said, (remarks, said)
PY
done

cat >program.c <<'C'
#define KEPT __attribute__((noipa))
KEPT int work(int n) {
  volatile int sum = 0;
  for (int i = 0; i < n; i++) sum += i;
  return sum;
}
KEPT int same(void) { return work(1000); }
KEPT int slower(int n) { return work(n) + same(); }
int clone(int n) __asm__(CLONE);
KEPT int clone(int n) { return n + 1; }
#ifdef SECOND
KEPT int added(void) { return same(); }
#else
KEPT int removed(void) { return work(200000); }
#endif
KEPT int recursive(int n) { return n == 0 ? slower(WORK) : recursive(n - 1); }
int main(void) {
  int sum = recursive(3) + clone(1);
  for (int i = 1; i < TIMES; i++) sum += slower(WORK);
#ifdef SECOND
  sum += added();
#else
  sum += removed();
#endif
  return sum == -1;
}
C
compile old program.c -O1 -DWORK=10000 -DTIMES=10 '-DCLONE="helper.constprop.0"'
compile new program.c -O1 -DSECOND -DWORK=1000000 -DTIMES=20 '-DCLONE="helper.isra.0"'
# of TYPE N: so many runs of both, in folders.
of() {
  local build i
  for build in old new; do
    profld -o $build.prof $build || fail "profld $build"
    mkdir -p "of-$1/$build"
    for ((i = 0; i < $2; i++)); do PROFTYPE=$1 PROFDIR=of-$1/$build ./$build.prof || fail "$build.prof: $?"; done
  done
}

# Exact times, of one run each and of several; counts, whose means are fractions; samples.
of time 3
written "$(printf '%s\n' of-time/old/prof.* | head -n 1)" "$(printf '%s\n' of-time/new/prof.* | head -n 1)"
written of-time/old/prof.* -- of-time/new/prof.*
written -R of-time/new/prof.* -- of-time/old/prof.*
# What is new, what is gone, and what has another name are told.
PYTHONPATH=$tests/page python3 - >said 2>&1 <<'PY' || fail "what is new and gone: $(tail -n 3 said)"
import contents, two_profiles
page = two_profiles.TwoProfiles(contents.check_safe("page.html")[0][0])  # A is the new one here
names, marks = page.content["functions"]["name"], page.columns["change.nodes.marks"]
of = lambda name: [i for i in range(1, len(marks)) if names[page.functions[i]] == name]
assert len(of("slower")) == 2 and all(marks[i] & 24 == 24 for i in of("slower")), [marks[i] for i in of("slower")]
assert [marks[i] & 24 for i in of("removed")] == [16] and [marks[i] & 24 for i in of("added")] == [8]
assert "helper.constprop.0 (was helper.isra.0)" in names
PY
of count 2
tabled of-count/old/prof.* -- of-count/new/prof.*
tabled of-count/old/prof.* -- of-count/new/prof.* "$(printf '%s\n' of-count/new/prof.* | head -n 1)"
for build in old new; do
  prof run --dir sampled-$build ./$build >/dev/null 2>stderr || fail "prof run: $(cat stderr)"
done
written sampled-old sampled-new

# It is written beside a view that is asked for, and prints nothing else.
run prof diff --html page.html of-count/old/prof.* -- of-count/new/prof.*
[ "$status" = 0 ] && [ ! -s stdout ] && [ ! -s stderr ] || fail "something is printed: $status $(cat stdout stderr)"
run prof diff -d --html page.html --fail-above 10 of-count/old/prof.* -- of-count/new/prof.*
[ "$status" = 3 ] && grep -q 'slower:-/' stdout && [ -s page.html ] || fail "-d --fail-above: $status $(cat stderr)"
rm -f left.html

# Names that would end the page's elements, or turn the order of letters around.
objcopy --redefine-sym same="</script></template><script>alert(1)</script><img src=x onerror='alert(\"1\")'>" \
  --redefine-sym slower=$'t\e[2Jw\xe2\x80\xaeo\x9b&lt;\n' new '<b onclick=x>' || fail "objcopy"
profld -o hostile.prof ./'<b onclick=x>' 2>stderr || fail "profld: $(cat stderr)"
mkdir hostile
PROFTYPE=count PROFDIR=hostile ./hostile.prof || fail "hostile.prof: $?"
tabled "$(printf '%s\n' of-count/old/prof.* | head -n 1)" hostile/prof.*
grep -qa 'alert(\|onerror\|onclick' page.html && fail "a name is in the page as it is"
grep -qF "</script></template><script>alert(1)</script><img src=x onerror='alert(\"1\")'>" table && grep -qF 't\x1b[2Jw\xe2\x80\xaeo\x9b&lt;\x0a' table || fail "names: $(cat -v table)"

# What cannot be is said in a line, and no file is left.
one=$(printf '%s\n' of-count/old/prof.* | head -n 1)
for options in "--html left.html --with-source" "--html left.html -n 3" "--html left.html --sort name" "--html" "--html left.html -t" "--html left.html --focus main"; do
  # shellcheck disable=SC2086
  run prof diff $options "$one" "$one"
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] && [ ! -e left.html ] || fail "prof diff $options: $status $(cat stderr)"
done
run prof diff --html left.html --with-source "$one" "$one"
grep -q -- '--with-source.*one profile' stderr || fail "--with-source: $(cat stderr)"
run prof diff --html left.html "$one" "$(printf '%s\n' of-time/new/prof.* | head -n 1)"
[ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -e left.html ] || fail "two types: $status $(cat stderr)"
run prof diff --html /nowhere/page.html "$one" "$one"
[ "$status" = 1 ] && grep -q '^prof: /nowhere/page.html: No such file' stderr || fail "a folder that is not there: $status $(cat stderr)"
run prof diff --html /dev/full "$one" "$one"
[ "$status" = 1 ] && grep -q '/dev/full: No space left' stderr || fail "a full disk: $status $(cat stderr)"
