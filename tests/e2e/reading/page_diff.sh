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

# The source. sourced A B [FILE=SIDES...]: a page with the source of both, as prof --annotate shows that of each.
sourced() {
  local a=$1 b=$2
  shift 2
  run prof diff --html page.html --with-source "$a" "$b"
  [ "$status" = 0 ] && [ ! -s stdout ] || fail "prof diff --with-source $a $b: $status $(cat stderr)"
  prof --annotate "$a" >annotation-a 2>remarks && prof --annotate "$b" >annotation-b 2>remarks || fail "prof --annotate: $(cat remarks)"
  python3 "$tests/page/two_sources.py" page.html annotation-a annotation-b "$@" >said 2>&1 || fail "the source of $a and $b $*: $(tail -n 3 said)"
  grep '^remark: ' said | sed 's/^remark/prof/' | while read -r remark; do grep -qxF "$remark" stderr || fail "the page says $remark, and prof does not"; done
}
# counted BUILD [ARGUMENT]: a program with counts of blocks; its profile is $BUILD.
counted() {
  profld -b -o "$1.prof" "$1" 2>stderr || fail "profld -b: $(cat stderr)"
  rm -rf "by-$1"
  mkdir "by-$1"
  PROFTYPE=${type:-count} PROFDIR=by-$1 "./$1.prof" ${2+"$2"} || fail "$1.prof: $?"
  printf -v "$1" %s "$(printf '%s\n' "by-$1"/prof.*)"
}
cat >lines.c <<'C'
int atoi(const char *);
#include "part.h"
#define KEPT __attribute__((noipa))
KEPT int more(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += part(i); // </script></template><script>alert(1)</script>
  return sum;
}
#ifdef SECOND
KEPT int added(int n) { return n + 1; }
#endif
int main(int argc, char **argv) {
  int sum = more(MORE) + (argc > 1 ? more(atoi(argv[1])) : 0);
#ifdef SECOND
  sum += added(1);
#endif
  return sum == -1;
}
C
echo 'static volatile int zero; static inline __attribute__((always_inline)) int part(int n) { return n + zero; }' >part.h
touch -d 2020-01-01 lines.c part.h
compile first lines.c -O1 -g -I. -DMORE=1000
compile second lines.c -O1 -g -I. -DMORE=3000 -DSECOND
touch -d 2020-01-02 first
touch -d 2020-01-03 second
counted first 5
counted second 5
# Both are of this text; times of samples; times of functions, where blocks were not counted.
sourced "$first" "$second"
grep -q '^remark' said && fail "there is a remark: $(cat said)"
grep -qa 'alert(' page.html && fail "source is in the page as it is"
PYTHONPATH=$tests/page python3 - >said 2>&1 <<'PY' || fail "executions of lines: $(tail -n 1 said)"
import contents, two_sources
source = two_sources.TwoSources(contents.check_safe("page.html")[2])
lines = next(f for f in source.files if f["path"].endswith("/lines.c"))["lines"]
assert source.titles == ["Executions A", "Executions B", "Change"], source.titles
assert lines[7][0] == ["1005", "3005", "+2000"] and lines[7][3] in range(2, 6), lines[7]
assert lines[11][0] == ["", "1", "+1"] and lines[4][0] == ["2", "2", "0"] and lines[4][3] == 1, (lines[11], lines[4])
PY
for build in first second; do prof run --dir lines-$build ./$build >/dev/null 2>stderr || fail "prof run: $(cat stderr)"; done
run prof diff --html page.html --with-source lines-first lines-second
[ "$status" = 0 ] || fail "samples of too short a run: $status $(cat stderr)"
for build in old new; do
  compile "$build-lines" program.c -O1 -g -fno-inline -DTIMES=20 "-DWORK=$([ $build = old ] && echo 10000000 || echo 60000000)" '-DCLONE="helper"'
  prof run --dir "run-$build" "./$build-lines" >/dev/null 2>stderr || fail "prof run: $(cat stderr)"
  profld -o "$build-lines.prof" "$build-lines" 2>stderr || fail "profld: $(cat stderr)"
  mkdir "time-$build"
  PROFTYPE=time PROFDIR=time-$build "./$build-lines.prof" || fail "$build-lines.prof: $?"
done
sourced run-old run-new
PYTHONPATH=$tests/page python3 - >said 2>&1 <<'PY' || fail "times of lines: $(tail -n 1 said)"
import contents, two_sources
source = two_sources.TwoSources(contents.check_safe("page.html")[2])
lines = source.files[0]["lines"]
cells, text, heat, change = lines[4]  # six times as much
assert source.titles[-3:] == ["Self A", "Self B", "Change"] and "sum += i" in text, (source.titles, text)
assert cells[-1].startswith("+") and heat > 0 and change in range(2, 6), (cells, heat, change)
assert source.files[0]["selves"][0].endswith("ms"), source.files[0]["selves"]
PY
sourced time-old/prof.* time-new/prof.*
grep -q 'blocks were not counted' said || fail "uncounted blocks are not told: $(cat said)"
# Of several runs: means.
counted first 6
cp "$first" other
counted first 5
run prof diff --html page.html --with-source "$first" other -- "$second"
[ "$status" = 0 ] || fail "means: $status $(cat stderr)"
PYTHONPATH=$tests/page python3 - >said 2>&1 <<'PY' || fail "means: $(tail -n 1 said)"
import contents, two_sources
source = two_sources.TwoSources(contents.check_safe("page.html")[2])
line = next(f for f in source.files if f["path"].endswith("/lines.c"))["lines"][7]
assert line[0][:2] == ["1005.5", "3005"] and line[0][2].lstrip("~") == "+1999.5", line
PY
# Changed after the first was built: its lines may be others. It is the same whichever is A.
touch -d 2020-01-02T12:00 lines.c
sourced "$first" "$second" lines.c=b
grep -q '^remark: /.*/lines.c: the programs are two builds, and not both are known to be of this text' said || fail "no remark: $(cat said)"
sourced "$second" "$first" lines.c=a
# Changed after both were: as of one profile, those of B are shown, and may be wrong.
touch -d 2020-01-04 lines.c
sourced "$first" "$second" lines.c=b
grep -q '^remark: /.*/lines.c: the source is newer than the program; numbers may stand' said || fail "no remark: $(cat said)"
# Of one build lines are the same ones, wherever they were.
cp "$first" again
sourced "$first" again
grep -q '^remark: /.*/lines.c: the source is newer' said || fail "no remark: $(cat said)"
# A program that is gone: what is known is when it was copied.
touch -d 2020-01-01 lines.c
mv first gone
sourced "$first" "$second"
grep -q '^remark: /.*/lines.c, .*/part.h: a program that has code of it is not there; that it' said || fail "no remark: $(cat said)"
touch -d 2020-01-02 first.prof
touch -d 2020-01-02T12:00 lines.c
sourced "$first" "$second" lines.c=b
mv gone first
# A source that is not there, and one that only one program has.
mv lines.c lines.d
sourced "$first" "$second" lines.c=b
grep -q 'lines.c: the source is not there' said || fail "no remark: $(cat said)"
mv lines.d lines.c
sed 's/lines.c/&/' lines.c >moved.c
compile third moved.c -O1 -g -I. -DMORE=3000
counted third
sourced "$first" "$third" moved.c=b lines.c=a

# What cannot be is said in a line, and no file is left.
one=$(printf '%s\n' of-count/old/prof.* | head -n 1)
for options in --with-source "-d --with-source" "--html left.html -n 3" "--html left.html --sort name" "--html" "--html left.html -t" "--html left.html --focus main"; do
  # shellcheck disable=SC2086
  run prof diff $options "$one" "$one"
  [ "$status" = 2 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] && [ ! -e left.html ] || fail "prof diff $options: $status $(cat stderr)"
done
run prof diff --html left.html "$one" "$(printf '%s\n' of-time/new/prof.* | head -n 1)"
[ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && [ ! -e left.html ] || fail "two types: $status $(cat stderr)"
run prof diff --html /nowhere/page.html "$one" "$one"
[ "$status" = 1 ] && grep -q '^prof: /nowhere/page.html: No such file' stderr || fail "a folder that is not there: $status $(cat stderr)"
run prof diff --html /dev/full "$one" "$one"
[ "$status" = 1 ] && grep -q '/dev/full: No space left' stderr || fail "a full disk: $status $(cat stderr)"
