# prof --annotate counts lines as gcov does, of code that is not optimized; --disassemble counts instructions.
. "${0%/*}/../common.inc"

# counted PROGRAM SOURCE: `lines' gets "NUMBER COUNT" of the lines of a source, as prof shows them; ##### is 0.
counted() {
  run prof --annotate "$1.prof" "$1.profiles"/prof.*
  [ "$status" = 0 ] || fail "$1: prof --annotate: $status $(cat stderr)"
  ! grep -v ': hooks took [0-9]* % of the time' stderr >remarks || fail "$1: prof --annotate says: $(cat remarks)"
  ! grep -P ' -[0-9.]+(-[0-9.]+)?[num]?s? +[0-9]+\t' stdout >negative || fail "$1: less than no time: $(head -n 2 negative)"
  awk -F'\t' -v source="/$2:" '
    NF == 1 && / lines? with code ran$/ { inside = index($0, source) > 0; next }
    inside {
      n = split($1, word, " ")
      if (n < 2 || word[n] !~ /^[0-9]+$/) next
      # Executions come first; calls, and maybe a time, stand between them and the number.
      if (n == 2 || n > 3) print word[n], (word[1] == "#####" ? 0 : word[1])
    }' stdout >lines
  [ -s lines ] || fail "$1: no lines of $2: $(head stdout)"
}

# as_gcov SOURCE [FLAGS]: the same of a copy of the program that counts by itself.
as_gcov() {
  local source=$1 program=${1%.*}
  shift
  compile "$program" "$programs/lines/$source" -O0 -g "$@"
  rewrite "$program" -b
  profiled "$program"
  counted "$program" "$source"
  rm -rf coverage
  mkdir coverage
  # Not through compile, which keeps the program only and not what gcov reads besides.
  (
    cd coverage && case $source in *.cc) set -- g++ "$@" ;; *) set -- gcc "$@" ;; esac
    "$@" -w -pthread -O0 -g --coverage -fprofile-update=atomic -o "$program" "$programs/lines/$source" && "./$program" >/dev/null
    gcov -t -- *.gcda
  ) >gcov 2>gcov.log
  awk -F: -v source="/$source" '
    $3 == "Source" { inside = substr($4, length($4) - length(source) + 1) == source; next }
    # Of templates, it has the sum of a line before the lines of each function.
    inside && $2 + 0 > 0 && $1 !~ /-$/ && !seen[$2]++ { gsub(/[ *]/, "", $1); print $2 + 0, ($1 ~ /[#=]/ ? 0 : $1) }' gcov >expected
  [ -s expected ] || fail "$source: gcov says nothing"
  # What ends a function has a number here where gcov may have none.
  # But nothing that gcov does not know of may be said not to have run.
  awk 'FNR == NR { expected[$1]; next } $2 == 0 && !($1 in expected)' expected lines >never
  [ ! -s never ] || fail "$source: lines without code of their own have not run: $(head -n 5 never)"
  awk 'FNR == NR { expected[$1] = $2; next } $1 in expected' expected lines | diff expected - >difference ||
    fail "$source: lines are not as gcov counts them (<): $(head -n 8 difference)"
}

as_gcov loops.c
as_gcov switches.c
as_gcov recursion.c
as_gcov threads.c
as_gcov exceptions.cc

# Both parts of a line: of a loop, its function.
run prof --annotate=gcd loops.prof loops.profiles/prof.*
grep -qE '^ *[0-9]+ +[0-9]+ .* 10	static int gcd' stdout || fail "no calls of gcd: $(cat stdout)"
run prof --annotate=nonesuch loops.prof loops.profiles/prof.*
[ "$status" = 1 ] && grep -q 'nonesuch: matches no function' stderr || fail "a pattern that matches nothing: $status $(cat stderr)"

# Each instruction ran as often as its block: what comes in goes out.
run prof --disassemble gcd loops.prof loops.profiles/prof.*
[ "$status" = 0 ] && [ ! -s stderr ] || fail "prof --disassemble: $status $(cat stderr)"
calls=$(prof --json loops.prof loops.profiles/prof.* | jq '.functions[] | select(.name == "gcd") | .calls')
awk -F'\t' -v calls="$calls" '
  $1 ~ /\+0x0$/ { split($1, word, " "); first = word[1] }
  $2 ~ /^ +ret/ { split($1, word, " "); last += word[1] }
  $2 ~ /^ +j.* <gcd\+0x[0-9a-f]+>$/ { ++jumps }
  $2 ~ /^loops.c:11:   while \(b\) \{$/ { ++sources }
  END { exit !(first == calls && last == calls && jumps == 2 && sources >= 1) }' stdout || fail "prof --disassemble: $(cat stdout)"
objdump -d --no-show-raw-insn loops | awk '/<gcd>:$/ { inside = 1; next } inside && !NF { exit } inside { print $1 }' | tr -d : >expected
awk -F'\t' '$2 ~ /^    / { n = split($1, word, " "); print word[n - 1] }' stdout | diff - expected >difference ||
  fail "prof --disassemble: not the instructions of objdump: $(head -n 5 difference)"

# Sources that are not there: where they were looked for is said once, and numbers are shown without text.
mkdir there
cp "$programs/lines/loops.c" there/moved.c
compile moved there/moved.c -O0 -g
rewrite moved -b
profiled moved
rm there/moved.c
run prof --annotate moved.prof moved.profiles/prof.*
[ "$status" = 0 ] && grep -q 'moved.c: the source is not there, nor below \.' stderr && [ "$(wc -l <stderr)" = 1 ] || fail "no source: $status $(cat stderr)"
grep -qE '^ *[0-9]+ +11$' stdout || fail "no source: $(head stdout)"
cp -p "$programs/lines/loops.c" moved.c
run prof --annotate moved.prof moved.profiles/prof.*
[ ! -s stderr ] && grep -qE '^ *[0-9]+ +11	  while' stdout || fail "a source beside the program: $(cat stderr)"

# In a separate debug file; and without any.
objcopy --only-keep-debug loops loops.debug
strip -o stripped loops
objcopy --add-gnu-debuglink=loops.debug stripped
rewrite stripped -b
profiled stripped
counted loops loops.c
cp lines expected
counted stripped loops.c
diff expected lines >difference || fail "a separate debug file: $(head -n 5 difference)"
rm loops.debug
run prof --annotate stripped.prof stripped.profiles/prof.*
[ "$status" = 0 ] && grep -q 'there is no debug information' stderr || fail "no debug information: $status $(cat stderr)"

# Optimized: of a function's first instruction the line table names its first line, too, and that ran.
cat >first.c <<'C'
__attribute__((noipa)) unsigned step(unsigned n) { return n % 2 ? 3 * n + 1 : n / 2; }
__attribute__((noipa)) unsigned length_from(unsigned n) {
  unsigned length = 1;
  while (n != 1) {
    n = step(n);
    ++length;
  }
  return length;
}
int main(void) {
  unsigned sum = 0;
  for (unsigned i = 1; i <= 100; ++i) sum += length_from(i);
  return sum != 3242;
}
C
compile first first.c -O2 -g
rewrite first -b
profiled first
counted first first.c
[ "$(grep -E '^[1-9] ' lines | head -n 5 | tr '\n' ' ')" = "1 3142 2 100 3 100 4 3242 5 3142 " ] || fail "first.c: $(cat stdout)"

# Where the original is not found, numbers may be wrong, which is said; --debug-dir names a folder that has it.
mkdir apart
mv first.prof apart/
cd apart || exit 1
run prof --annotate first.prof ../first.profiles/prof.*
[ "$(grep -v ': hooks took [0-9]* % of the time' stderr)" = 'prof: first: the file that was rewritten is not there; its copy has jumps at the beginnings of functions, and numbers there may be wrong' ] ||
  fail "without the original: $(cat stderr)"
run prof --annotate --debug-dir .. first.prof ../first.profiles/prof.*
! grep -v ': hooks took [0-9]* % of the time' stderr >remarks && grep -qP '^ *3142 ' stdout || fail "with the original: $(cat stderr stdout)"
cd ..

# gprof reads the blocks, without a word.
prof -g gmon.out loops loops.profiles/prof.* 2>prof.log || fail "prof -g: $(cat prof.log)"
[ "$(cat prof.log)" = "prof: gmon.out.blocks: has this and counts of basic blocks, for gprof -l" ] || fail "prof -g says: $(cat prof.log)"
for options in "-l -A -x gmon.out.blocks" "-l -C gmon.out.blocks" "-l -p gmon.out.blocks" "-l -q gmon.out.blocks" "-l -i gmon.out.blocks" \
  "-A gmon.out" "-C gmon.out" "-i gmon.out" "-A -x gmon.out"; do
  # shellcheck disable=SC2086 # several options
  gprof ${options% *} loops ${options##* } >gprof.out 2>gprof.err || fail "gprof $options: exit status $?"
  [ ! -s gprof.err ] || fail "gprof $options says: $(cat gprof.err)"
  [ -s gprof.out ] || fail "gprof $options prints nothing"
done
# With the option all is in one file, and no other beside it.
mv gmon.out.blocks expected.blocks
prof -g gmon.out --gprof-blocks loops loops.profiles/prof.* 2>prof.log || fail "prof -g --gprof-blocks: $(cat prof.log)"
[ ! -s prof.log ] && [ ! -e gmon.out.blocks ] && cmp -s gmon.out expected.blocks || fail "--gprof-blocks: $(cat prof.log; ls)"
run prof --gprof-blocks loops loops.profiles/prof.*
[ "$status" = 2 ] && grep -q '^prof: --gprof-blocks needs -g' stderr || fail "--gprof-blocks without -g: $status $(cat stderr)"
# What gprof shows of blocks is true: of lines that were compiled to one block each, the numbers are those of prof --annotate. A line
# in the middle of a block has its own, too.
counted loops loops.c
objdump --dwarf=decodedline loops | awk '$1 == "loops.c" && $2 ~ /^[0-9]+$/ { print $2 }' | sort -n | uniq -u >once
gprof -l -A -t 0 loops gmon.out | awk '/^\*\*\* File/ { n = 0; next } { ++n } / -> / { sub(/ -> .*/, ""); gsub(/ /, ""); print n, $0 }' |
  sed 's/#####/0/' >shown
awk 'FILENAME == "once" { once[$1]; next } FILENAME == "lines" { count[$1] = $2; next }
  $1 in once && $1 in count && $2 !~ /,/ { ++seen; if ($2 != count[$1]) print $1 ": " $2 ", not " count[$1] }
  END { if (seen < 40) print seen + 0 " lines only" }' once lines shown >wrong
[ ! -s wrong ] || fail "gprof -l -A: $(head -n 5 wrong)"
sort once >once.sorted
cut -d ' ' -f 1 shown | sort | comm -23 once.sorted - >wrong
[ ! -s wrong ] || fail "gprof -l -A has no numbers at lines $(head -n 5 wrong | paste -sd ' ')"
mv expected.blocks gmon.out.blocks
gprof -l -C loops gmon.out.blocks | grep -E "^.*/loops\.c:12: \(gcd:0x[0-9a-f]+\) $(sed -n 's/^12 //p' expected) executions$" >/dev/null ||
  fail "gprof -l -C: not as often as prof: $(gprof -l -C loops gmon.out.blocks | grep gcd)"

# Without counts of blocks: calls, and one line that says why there is no more.
rewrite loops
profiled loops
run prof --annotate loops.prof loops.profiles/prof.*
[ "$status" = 0 ] && [ "$(cat stderr)" = "prof: $(echo loops.profiles/prof.*): blocks were not counted; executions of lines need profld -b" ] ||
  fail "without -b: $status $(cat stderr)"
grep -qE '^ *[0-9]+ .* 10	static int gcd' stdout && head -n 2 stdout | grep -q '^ *Calls  *Self  Line$' || fail "without -b: $(head stdout)"
run prof --disassemble gcd loops.prof loops.profiles/prof.*
[ "$status" = 0 ] && grep -q 'blocks were not counted; executions of instructions need profld -b$' stderr || fail "without -b: $status $(cat stderr)"
grep -qE '^ *[0-9a-f]+ +\+0x0	    push %rbp$' stdout || fail "without -b: $(head stdout)"
exit 0
