# After prof run inlined functions have rows and nodes of their own: their times, what they call, and no calls of their own.
. "${0%/*}/../common.inc"

export HOME=$PWD/home
unset XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH DEBUGINFOD_URLS
# Two thirds of the time are in heavy, which two functions have in their code, and a third in light, below outer.
cat >program.cc <<'C'
#define ALWAYS [[gnu::always_inline]] inline
#ifdef __clang__
#define KEPT [[gnu::noinline]]
#else
#define KEPT [[gnu::noipa]]
#endif
namespace shop {
struct Sorted {
  ALWAYS unsigned heavy(unsigned n) const {
    for (volatile int i = 0; i < 240000; ++i) ++n;
    return n;
  }
};
ALWAYS unsigned light(unsigned n) {
  for (volatile int i = 0; i < 240000; ++i) ++n;
  return n;
}
}
KEPT unsigned leaf(unsigned n) { return n + 1; }
ALWAYS unsigned outer(unsigned n) { return leaf(shop::light(n)); }
KEPT unsigned first(unsigned n) { return shop::Sorted().heavy(n) + outer(n); }
KEPT unsigned second(unsigned n) {
  auto twice = [](unsigned x) __attribute__((always_inline)) { return leaf(x) + leaf(x + 1); };
  return shop::Sorted().heavy(n) + twice(n);
}
int main() {
  unsigned all = 0;
  for (int i = 0; i < 1500; ++i) all += first(i) + second(i);
  return all == 1;
}
C

# checked NAME FLAG...: runs it, and holds what is shown against what is known.
checked() {
  local name=$1
  shift
  compile "$name" program.cc -O2 "$@"
  rm -f prof.*
  run prof run "./$name"
  [ "$status" = 0 ] || fail "$name: $status $(cat stderr)"
  ! grep -q 'prof --inlined' stderr || fail "$name: a remark on what has rows: $(cat stderr)"
  prof --json prof.* >json && prof --json --no-inlined prof.* >folded.json || fail "$name: prof --json"
  jq -e --arg program "$name" '
    def row(f): [.functions[] | select(.name == f)] | if length == 1 then .[0] else error("rows of " + f) end;
    # Of the program: what the kernel and the start take differs from machine to machine, and with other load.
    def share(f): row(f).self_cycles / ([.functions[] | select(.module == $program) | .self_cycles] | add);
    def is_near(a): . > a - 0.12 and . < a + 0.12;
    row("shop::Sorted::heavy(unsigned int) const (inlined)") as $heavy | row("shop::light(unsigned int) (inlined)") as $light |
    $heavy.is_inlined and $heavy.line == 9 and ($heavy.file | endswith("program.cc")) and ($heavy | has("address") | not) and
    (share($heavy.name) | is_near(0.667)) and (share($light.name) | is_near(0.333)) and
    share("first(unsigned int)") < 0.05 and share("second(unsigned int)") < 0.05 and
    row("first(unsigned int)").calls == 1500 and row("second(unsigned int)").calls == 1500 and row("leaf(unsigned int)").calls == 4500 and
    row("outer(unsigned int) (inlined)").total_cycles >= $light.self_cycles and
    row("first(unsigned int)").total_cycles >= row("outer(unsigned int) (inlined)").total_cycles' json >/dev/null ||
    fail "$name: $(jq -c '[.functions[] | [.name, .calls, .self_cycles, .total_cycles]]' json)"
  # Without the rows the time is of those that have the code, and the sum is the same.
  jq -e --slurpfile rows json '
    def all: [.functions[].self_cycles] | add;
    def total(f): .functions[] | select(.name == f) | .total_cycles;
    (all - ($rows[0] | all) | fabs) <= (.functions | length) + ($rows[0].functions | length) and
    all(.functions[]; has("is_inlined") | not) and
    (total("main") - ($rows[0] | total("main")) | fabs) <= ($rows[0].functions | length)' folded.json >/dev/null ||
    fail "$name: --no-inlined: $(jq -c '[.functions[] | [.name, .self_cycles, .total_cycles]]' folded.json)"
  # No calls of inlined functions; those of others are exact where there is one context.
  prof prof.* >table 2>/dev/null || fail "$name: prof"
  awk -F'\t' '$NF == "shop::light(unsigned int) (inlined)" { split($0, f, " "); found = f[5] == "-" } END { exit !found }' table ||
    fail "$name: calls of an inlined function: $(cat table)"
  prof -d prof.* >tree 2>/dev/null && grep -q 'first(unsigned int):.*/1500$' tree && grep -q 'outer(unsigned int) (inlined):' tree ||
    fail "$name: $(cat tree)"
  prof --callers 'shop::light' prof.* >callers 2>/dev/null && grep -q 'outer(unsigned int) (inlined)' callers &&
    ! grep -q ':[^ ]*/' callers || fail "$name: --callers: $(cat callers)"
}
for compiler in gcc clang; do
  export CC=$compiler
  checked "$compiler" -g
  checked "$compiler-4" -gdwarf-4
done
export CC=gcc
checked minimal -g1 # of which clang leaves less

# In the tree, leaf is below the inlined functions that call it, with its name for itself as far as the source tells.
compile tree program.cc -O2 -g
rm -f prof.*
run prof run ./tree
prof --json prof.* | jq -e '
  .tree as $nodes | .functions as $f |
  def name(n): $f[$nodes[n].function].name;
  [range($nodes | length) | select(name(.) | startswith("shop::light")) | name($nodes[.].parent)] | . != [] and all(. == "outer(unsigned int) (inlined)")' >/dev/null ||
  fail "tree: $(prof -d prof.* 2>&1)"

# --annotate takes the names that the table has, and shows the file that such a function stands in, with its time.
prof --annotate='shop::Sorted::heavy' prof.* >annotated 2>stderr || fail "--annotate: $(cat stderr)"
grep -q '^/.*program.cc: ' annotated && grep -q '[0-9]m*s  *10	.*volatile int i' annotated ||
  fail "--annotate of an inlined function: $(cat annotated)"
# --disassemble shows its instructions, and no others, in each function that has them.
prof --disassemble='shop::Sorted::heavy' prof.* >listed 2>stderr || fail "--disassemble: $(cat stderr)"
hosts=$(grep -o 'heavy(unsigned int) const (inlined) in [a-z]*' listed | sed 's/.* //' | sort | tr '\n' ' ')
[ "$hosts" = 'first second ' ] &&
  [ "$(grep -c '^ *360000000 .*	    ' listed)" -ge 6 ] && ! grep -E 'program.cc:(1[2-9]|[2-9][0-9]):' listed >&2 ||
  fail "--disassemble of an inlined function: $(cat listed)"
run prof --annotate='shop::nobody' prof.*
[ "$status" = 1 ] && grep -q 'shop::nobody: matches no function' stderr || fail "--annotate of nothing: $status $(cat stderr)"

# In the page, too.
prof --json --html page.html prof.* >json 2>stderr && PYTHONDONTWRITEBYTECODE=1 python3 "$tests/page/contents.py" page.html json >said 2>&1 ||
  fail "prof --html: $(cat stderr said)"

# gmon.out and -G have functions only.
run prof -g gmon.out prof.*
[ "$status" = 0 ] && gprof -b -p ./tree gmon.out >flat 2>/dev/null && ! grep -q inlined flat && grep -q ' first(unsigned' flat ||
  fail "gmon.out: $(cat stderr flat)"
run prof -G prof.*
[ "$status" = 0 ] && ! grep -q '(inlined)' stdout || fail "-G: $(cat stdout)"

# prof diff has the rows if both builds have debug information, and else in neither.
compile bare program.cc -O2
mkdir a b c
(cd a && prof run ../tree) >log 2>&1 && (cd b && prof run ../tree) >log 2>&1 && (cd c && prof run ../bare) >log 2>&1 || fail "runs: $(cat log)"
run prof diff --all --json a/prof.*[0-9] b/prof.*[0-9]
jq -e 'any(.functions[]; .name | endswith("heavy(unsigned int) const (inlined)"))' stdout >/dev/null || fail "diff: $(cat stdout stderr)"
for sides in "a/prof.*[0-9] c/prof.*[0-9]" "c/prof.*[0-9] a/prof.*[0-9]" "--no-inlined a/prof.*[0-9] b/prof.*[0-9]"; do
  # shellcheck disable=SC2086 # patterns, and several words
  run prof diff --all --json $sides
  [ "$status" = 0 ] && jq -e 'all(.functions[]; .name | startswith("shop::") | not) and any(.functions[]; .name == "first(unsigned int)")' stdout >/dev/null ||
    fail "diff $sides: $(cat stdout stderr)"
done

# Lambdas have no names for linkers; gcc says only of their classes where they stand. Each has its row.
cat >lambdas.cc <<'C'
int main() {
  unsigned n = 1;
  auto longer = [&] { for (volatile int i = 0; i < 400000000; ++i) ++n; };
  auto shorter = [&] { for (volatile int i = 0; i < 100000000; ++i) ++n; };
  longer();
  shorter();
  return n == 0;
}
C
compile lambdas lambdas.cc -O2 -g
rm -f prof.*
run prof run ./lambdas
prof --json prof.* | jq -e '
  def row(f): [.functions[] | select(.name == f)] | if length == 1 then .[0] else error("rows of " + f) end;
  row("main::{lambda#1}::operator() (inlined)") as $longer | row("main::{lambda#2}::operator() (inlined)") as $shorter |
  $longer.line == 3 and $shorter.line == 4 and $longer.self_cycles > 2 * $shorter.self_cycles' >/dev/null 2>said ||
  fail "lambdas: $(cat said; prof prof.* 2>&1)"
# A name can be copied from the table.
run prof --function 'main::{lambda#1}::operator() (inlined)' prof.*
[ "$status" = 0 ] && [ "$(grep -c 'lambda#' stdout)" = 1 ] || fail "--function: $status $(cat stdout stderr)"

# Damaged debug information: blocks in one another without an end.
cat >nested.S <<'S'
  .globl main
main:
  mov $200000000, %eax
begin:
  dec %eax
  jnz begin
end:
  ret
main_end:
  .type main, @function
  .size main, . - main
  .section .debug_abbrev
abbreviations:
  .byte 1, 0x11, 1, 0x13, 0x0b, 3, 8, 0x11, 1, 0x12, 7, 0, 0 # a unit with language, name and range; with children
  .byte 2, 0x32, 1, 0, 0 # DW_TAG_try_block, with children
  .byte 3, 0x2e, 0, 3, 8, 0x20, 0x0b, 0, 0 # a function that is inlined
  .byte 4, 0x2e, 1, 3, 8, 0x11, 1, 0x12, 7, 0, 0 # a function with a range; with children
  .byte 5, 0x1d, 0, 0x31, 0x13, 0x11, 1, 0x12, 7, 0, 0 # where it was inlined
  .byte 0
  .section .debug_info
unit:
  .long unit_end - unit_start
unit_start:
  .value 4
  .long abbreviations
  .byte 8, 1, 4 # C++
  .asciz "nested.cc"
  .quad main, main_end - main
  .fill 2000000, 1, 2
  .fill 2000000, 1, 0
helper:
  .byte 3
  .asciz "helper"
  .byte 1, 4
  .asciz "main"
  .quad main, main_end - main
  .byte 5
  .long helper - unit
  .quad begin, end - begin
  .byte 0, 0
unit_end:
  .section .note.GNU-stack
S
compile nested nested.S
rm -f prof.*
run prof run ./nested
[ "$status" = 0 ] && grep -q 'helper (inlined)' stderr || fail "nested blocks: $status $(cat stderr)"

# What takes long to read is not read unasked, and it is said.
cat >zeros.c <<'C'
__asm__(".section .debug_info\n.zero 70000000\n.previous");
C
compile zeros.o zeros.c -c
compile large program.cc zeros.o -O2 -g
rm -f prof.*
run prof run ./large
[ "$status" = 0 ] && grep -q '^prof: large: 66 MB of debug information take long to read, so what was inlined has no rows; prof --inlined lists it$' stderr &&
  ! grep -q 'light.*(inlined)' stderr || fail "much debug information: $status $(cat stderr)"
