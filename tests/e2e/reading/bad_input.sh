# What prof cannot read it refuses in one line with exit status 1; of a damaged profile it shows what is left.
. "${0%/*}/../common.inc"

cat >small.c <<'C'
__attribute__((noipa)) int leaf(int n) { return n + 1; }
__attribute__((noipa)) int walk(int n) { return n ? walk(n - 1) + leaf(n) : leaf(0); }
int main(void) { return walk(20) == 0; }
C
compile small small.c -O1
rewrite small
profiled small
cp small.profiles/prof.* profile
sed 's/n + 1/n + 2/' small.c >other.c
compile other other.c -O1
rewrite other

# refused WORDS ARGUMENT...
refused() {
  local words=$1
  shift
  run prof "$@"
  [ "$status" = 1 ] || fail "prof $*: exit status $status: $(head -n 2 stderr)"
  [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "prof $*: not one line: $(head -n 3 stderr stdout)"
  case $(cat stderr) in
    "prof: "*"$words"*) ;;
    *) fail "prof $*: says $(cat stderr), not ... $words" ;;
  esac
}
mkdir empty
(cd empty && refused "no profile" && refused "no profile" ../small.prof) || exit 1
refused "No such file" nothing
refused "No such file" small.prof nothing
: >none
refused "neither a program nor a profile" none
refused "not a profile" small.prof none
mkdir folder
refused "there are no profiles prof.* in this folder" folder
mkfifo prof.1
refused "not a regular file" small.prof prof.1
refused "program comes first" profile small.prof
id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
refused "$(id other.prof)" other.prof profile
refused "$(id small.prof)" other.prof profile
refused "$(id other)" other profile
printf '\177PROF\r\n\032' >magic
refused "cut off" small.prof magic
mkdir away && mv small.prof away
refused "was moved" profile
refused "rewritten program is needed" small profile
run prof away/small.prof profile
[ "$status" = 0 ] && has_row 21 leaf || fail "moved program: $(cat stderr)"
mv away/small.prof .
refused "nowhere" -g nowhere/gmon.out small.prof profile

# damaged PROFILE: an error in one line, or a table and one line.
damaged() {
  timeout $forever prof -d small.prof "$1" >stdout 2>stderr
  status=$?
  [ "$status" -le 1 ] || fail "$1, $2: exit status $status"
  [ "$status" = 0 ] || [ "$(grep -c ^prof: stderr)" -ge 1 ] || fail "$1, $2: not a word"
  [ "$(grep -vc ^prof: stderr)" = 0 ] || fail "$1, $2: $(grep -v ^prof: stderr)"
}
used=$(od -An -tu4 -j44 -N4 profile)
size=$((used * 64))
for ((i = 0; i < size; i += size / 40)); do
  head -c "$i" profile >cut
  damaged cut "cut at $i"
  [ "$status" = 1 ] || fail "cut at $i: exit status $status"
done
head -c "$size" profile >whole
for ((i = 8; i < size; i += size / 50)); do
  for byte in '\x00' '\xff' '\x05'; do
    cp whole flipped
    printf "$byte" | dd of=flipped bs=1 seek="$i" conv=notrunc status=none
    damaged flipped "byte $i"
  done
done
exit 0
