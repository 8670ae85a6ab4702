# Names: simplified, and in full with -w; demangled in every language; patterns of -F, -N, --function and --not-function; and
# what is said of a pattern that matches nothing.
. "${0%/*}/../common.inc"
export PROFTYPE=count XDG_CACHE_HOME=$PWD/cache

cat >words.cc <<'C'
#include <map>
#include <string>
#include <vector>
namespace text {
using Words = std::map<std::string, std::vector<int>>;
struct Index {
  Words words;
  __attribute__((noinline)) void add(const std::string& word, int line) { words[word].push_back(line); }
};
template <class T>
__attribute__((noinline)) long count(const T& words) {
  long n = 0;
  for (const auto& [word, lines] : words) n += long(lines.size());
  return n;
}
}
extern "C" __attribute__((noinline)) int parse_line(int n) { asm(""); return n + 1; }
int main() {
  text::Index index;
  for (int i = 0; i < 3; ++i) index.add("a word", parse_line(i));
  return int(text::count(index.words));
}
C
made words g++ -O1 -o words words.cc 2>compile.log || fail "cannot compile: $(head -n 3 compile.log)"
rewrite words
profiled words
[ "$status" = 3 ] || fail "exit status $status"
show() { run prof "$@" words.prof words.profiles/prof.*; }

show
grep -q $'\tlong text::count<std::map<std::string, std::vector<int>>>(std::map<std::string, std::vector<int>> const&)$' stdout &&
  grep -q $'\ttext::Index::add(std::string const&, int)$' stdout || fail "simplified: $(cat stdout)"
show -w
grep -q $'\ttext::Index::add(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&, int)$' stdout ||
  fail "-w: $(cat stdout)"
show --wide --json
jq -e '.functions[] | select(.raw_name == "_ZN4text5Index3addERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEi") |
  .name | startswith("text::Index::add(std::__cxx11::")' stdout >/dev/null || fail "--wide --json: $(cat stdout)"

names() { prof --json "$@" words.prof words.profiles/prof.* | jq -r '.functions[] | .name' | sed 's/(.*//; s/<.*//; s/.* //' | sort | paste -sd ' '; }
for glob in count text::count 'text::count<*>' 'long text::count*' 'count<std::map<std::string, *>>' 'count(std::map<*> const&)'; do
  show --function "$glob"
  [ "$(grep -c 'text::count' stdout)" = 1 ] && ! grep -qE 'parse_line|Index::add' stdout || fail "--function '$glob': $(cat stdout stderr)"
done
show --function add --function parse_line
[ "$(grep -cE 'parse_line|Index::add' stdout)" = 2 ] && ! grep -q main stdout || fail "--function twice: $(cat stdout)"
share() { echo "$(column % "$1") $(column Calls "$1")"; }
show
all=$(share parse_line)
show --function parse_line
[ "$all" != " " ] && [ "$(share parse_line)" = "$all" ] || fail "--function changes the figures: $(cat stdout)"
show --not-function 'text::*' --not-function 'std::*'
grep -q parse_line stdout && grep -q main stdout && ! grep -q 'text::' stdout || fail "--not-function: $(cat stdout)"
[[ " $(names --function parse_line) " == *" main "* ]] || fail "the tree has lost what leads there: $(names --function parse_line)"
show -d --function parse_line
grep -q 'parse_line:' stdout && grep -q '^main:\|main:' stdout && ! grep -q 'Index' stdout || fail "-d --function: $(cat stdout)"
show --function prase_line
[ "$status" = 1 ] && [ ! -s stdout ] &&
  [ "$(cat stderr)" = "prof: --function prase_line: matches no function in the profile; did you mean parse_line?" ] ||
  fail "--function prase_line: $status $(cat stderr)"
show --not-function text::Index::ad
[ "$status" = 0 ] && [ -s stdout ] &&
  grep -qx 'prof: --not-function text::Index::ad: matches no function in the profile; did you mean text::Index::add?' stderr ||
  fail "--not-function text::Index::ad: $status $(cat stderr)"
for options in "-g x" --suggest --by-module; do
  # shellcheck disable=SC2086 # a list of words
  show --function main $options
  [ "$status" = 2 ] && grep -q "^prof: --function .* ${options% *}" stderr || fail "--function $options: $status $(cat stderr)"
done

# The same patterns for profld, and for prof run.
instrumented() { jq .functions_instrumented report; }
for glob in count text::count 'text::count<*>' 'text::Index::*' add parse_line '_ZN4text5Index*'; do
  run profld --report report -o x.prof -F "$glob" words
  [ "$status" = 0 ] && [ ! -s stderr ] && [ "$(instrumented)" = 1 ] || fail "-F '$glob': $status $(cat stderr) $(instrumented)"
done
run profld -o x.prof -F prase_line words
[ "$status" = 3 ] && grep -q '^profld: words: no function matches -F, .* (-F prase_line: matches no function; did you mean parse_line?)$' stderr ||
  fail "-F prase_line: $status $(cat stderr)"
run profld -o x.prof -F _Unwind_Resume words
[ "$status" = 3 ] && grep -q '^profld: words: no function matches -F, .* (-F matches functions of other files only, which are ' stderr || fail "-F _Unwind_Resume: $status $(cat stderr)"
run profld -o x.prof -F main -N main words
[ "$status" = 3 ] && grep -q '^profld: words: no function matches -F, .*nm(1)$' stderr || fail "-F main -N main: $status $(cat stderr)"
run profld --report report -o x.prof -F main -F cuont -N strleen words
[ "$status" = 0 ] && grep -qx 'profld: words: -F cuont: matches no function; did you mean text::count?' stderr &&
  grep -q '^profld: words: -N strleen: matches no function' stderr || fail "-F main -F cuont: $status $(cat stderr)"
[ "$(jq '.unmatched_patterns | length' report)" = 2 ] || fail "the report: $(cat report)"
run profld -q -o x.prof -F main -F cuont words
[ "$status" = 0 ] && [ ! -s stderr ] || fail "-q: $(cat stderr)"
run prof run -F parse_line -F text::Index::add -w --function parse_line ./words
[ "$status" = 3 ] && grep -q $'\tparse_line$' stderr && ! grep -q 'Index::add' stderr || fail "prof run: $(cat stderr)"

# Other languages.
made heat gfortran -O1 -w -o heat "$programs/heat.f90" 2>compile.log || fail "cannot compile: $(head -n 3 compile.log)"
printf '1.5\nabc\n 2e3\n' >numbers
rewrite heat
INPUT=numbers profiled heat
run prof heat.prof heat.profiles/prof.*
grep -q $'\trods::ackermann$' stdout || fail "Fortran: $(cat stdout)"
run prof --function 'rods::*' heat.prof heat.profiles/prof.*
grep -q $'\trods::ackermann$' stdout && ! grep -q 'MAIN__' stdout || fail "Fortran, --function: $(cat stdout stderr)"

gnatchop -q "$programs/crew.ada" || fail "gnatchop"
made crew gnatmake -q -f -O1 -o crew crew_main.adb >compile.log 2>&1 || fail "cannot compile: $(head -n 3 compile.log)"
rewrite crew
profiled crew
run prof crew.prof crew.profiles/prof.*
grep -q $'\tcrew\.attempt$' stdout && ! grep -q $'\tcrew__attempt' stdout || fail "Ada: $(cat stdout)"

made parcels /usr/bin/rustc -A warnings -C symbol-mangling-version=v0 -o parcels "$programs/parcels.rs" 2>compile.log ||
  fail "cannot compile: $(head -n 3 compile.log)"
rewrite parcels
profiled parcels
run prof --function largest --function parcels::Circle::area parcels.prof parcels.profiles/prof.*
grep -q $'\tparcels::largest::<f64>$' stdout && grep -q $'\t<parcels::Circle as parcels::Shape>::area$' stdout || fail "Rust: $(cat stdout stderr)"

made jobs ldc2 -O0 --of=jobs "$programs/jobs.d" >compile.log 2>&1 || fail "cannot compile: $(head -n 3 compile.log)"
rewrite jobs
profiled jobs
run prof --function jobs.Circle.size jobs.prof jobs.profiles/prof.*
grep -q $'\tjobs\.Circle\.size()$' stdout || fail "D: $(cat stdout stderr)"
