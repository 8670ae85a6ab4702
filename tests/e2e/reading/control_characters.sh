# Names hold any bytes: none of them commands the terminal or fakes a row, in no view, message or report, and what is shown
# tells which bytes they are.
. "${0%/*}/../common.inc"

cat >program.c <<'C'
#include <unistd.h>
#define KEPT __attribute__((noipa))
static volatile int sum;
KEPT void one(int n) { sum += n; }
KEPT void two(int n) { sum += n; }
KEPT void stays(int n) { __asm__ volatile("jmp *%0" : : "r"((long)&&end + n)); end: sum++; }
int main(int argc, char** argv) {
  for (int i = 0; i < 20000000; i++) one(i);
  two(1);
  if (argc > 2) stays(0);
  if (argc > 1) for (;;) one(1), usleep(1000);
  return 0;
}
C
compile program program.c -O1
one=$'o\e[2Jn\a\n99.9 9.999 1\tfake\\\'x' two=$'t\x9bw\xc2\x9bo\xc3\xa9\x7f'
file=$'a \e[1m\n'
objcopy --redefine-sym one="$one" --redefine-sym two="$two" --redefine-sym stays=$'st\e\x7f\xc2\x85ays' program "$file" || fail "objcopy"
shown_one='o\x1b[2Jn\x07\x0a99.9 9.999 1\x09fake\\'"'x" shown_two='t\x9bw\xc2\x9boé\x7f' shown_file='a \x1b[1m\x0a'

# clean FILE...: neither control characters, but newline and tab, nor anything that is no UTF-8.
clean() {
  local file
  for file; do
    LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$file" && fail "control characters: $(cat -v "$file")"
    iconv -f UTF-8 -t UTF-8 "$file" >/dev/null 2>&1 || fail "no UTF-8: $(cat -v "$file")"
  done
}
# shows TEXT STATUS COMMAND...: what it prints is clean, and has TEXT in it.
shows() {
  local text=$1 expected=$2
  shift 2
  run "$@"
  clean stdout stderr
  [ "$status" = "$expected" ] || fail "$*: status $status: $(cat stderr)"
  grep -qF -- "$text" stdout stderr || fail "$*: no $text in $(cat stdout stderr)"
}

shows "profld: $shown_file.prof: " 0 profld -v --report report "$file"
clean report
jq -e '.skipped[] | select(.name == "st\u001b\u007f\u0085ays")' report >/dev/null || fail "report: $(cat -v report)"
shows 'profld: --\x1b: no such option' 2 profld $'--\e'
shows 'profld: no\x0asuch: ' 1 profld $'no\nsuch'
mkdir $'dir\e'
cp "$file.prof" $'dir\e/named'
(PROFDIR=. exec -a $'arg\e\t\n0' $'./dir\e/named')
profile=$(echo prof.*)

shows "$shown_one" 0 prof "$profile"
[ "$(grep -c . stdout)" = 6 ] || fail "rows: $(cat stdout)"
shows "	$shown_two" 0 prof "$profile"
shows ". $shown_one:" 0 prof -d "$profile"
shows ". $shown_one:" 0 prof -d -t "$profile"
shows 'arg\x1b\x09\x0a0' 0 prof --processes "$profile"
shows '"functions"' 0 prof --json --processes "$profile"
jq -e --arg one "$one" '.[0] | .command == "arg\u001b\t\n0" and any(.functions[]; .name == $one)' stdout >/dev/null || fail "JSON: $(cat -v stdout)"
shows 'x\x1by' 1 prof $'x\ey'
shows 'such\x0aoption' 2 prof $'--no-such\noption'
shows 'is neither a program' 1 prof program.c

# A word for a shell that has these bytes in it. Counts alone: other load makes a function look as if it did much.
mkdir counted
PROFTYPE=count PROFDIR=counted $'./dir\e/named'
shows '-N ' 0 prof --suggest counted/prof.*
eval "set -- $(cat stdout)"
run profld -o rest.prof "$@" "$file"
[ "$status" = 0 ] || fail "profld $*: $(cat stderr)"
mkdir rest
PROFDIR=rest ./rest.prof
prof --json rest.prof rest/prof.* | jq -e --arg one "$one" 'all(.functions[]; .name != $one) and any(.functions[]; .name == "main")' >/dev/null ||
  fail "the suggestion left out something else: $*"

# What gprof reads names from.
run prof --gprof-symbols symbols "$profile"
clean symbols
grep -qF '_9.999_1\x09fake' symbols || fail "symbols: $(cat symbols)"

# The program's own messages, and prof top.
PROFTYPE=$'a\e\nb' shows 'PROFTYPE=a\x1b\x0ab: is not supported' 0 ./"$file.prof"
shows 'the profile is prof.' 0 prof run "./$file"
{ PROFDIR=. exec "./$file.prof" endless; } 2>/dev/null &
pid=$!
disown # no word about its end
trap 'kill -9 $pid 2>/dev/null' EXIT
until run prof "prof.$pid" && grep -q fake stdout; do sleep 0.1; done
prof top -i 0.2 $pid 2>stderr | sed '/fake/q' >stdout # until it was seen to run
clean stdout stderr
grep -qF "	$shown_one" stdout || fail "prof top: $(cat stdout stderr)"
shows 'million calls a second' 0 prof top -n 1 -i 0.1 $pid
