# Names of stripped programs come from separate debug files, wherever distributions put them, and from no other program's.
. "${0%/*}/../common.inc"

export HOME=$PWD/home # no cache of debuginfod's client but ours
unset XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH DEBUGINFOD_URLS
# Hooks may take most of the time of so small a program, which would be said.
export PROFTYPE=count
cat >program.c <<'END'
__attribute__((noipa)) static int inner(int n) { return n * 3; }
__attribute__((noipa)) static int outer(int n) { return inner(n) + inner(n + 1); }
int main(void) { return outer(1) == 9 ? 0 : 1; }
END

# prepared NAME FLAG...: the programs NAME.full and NAME, which is stripped, and NAME.debug, in a folder of their own.
prepared() {
  local name=$1
  shift
  mkdir "$name" && compile "$name/$name.full" program.c -O1 -g "$@"
  objcopy --only-keep-debug "$name/$name.full" "$name/$name.debug"
  strip -o "$name/$name" "$name/$name.full"
}
# ran PROGRAM: rewrites it where it lies, and runs it.
ran() {
  local folder=${1%/*}
  profld -o "$1.prof" "$1" || fail "profld $1"
  rm -f "$folder"/prof.*
  PROFDIR=$folder "./$1.prof" || fail "$1.prof: exit status $?"
}
# shown PROGRAM OPTION...: its profile's table in stdout.
shown() {
  local folder=${1%/*}
  shift
  run prof "$@" "$folder"/prof.*
  [ "$status" = 0 ] || fail "prof $*: exit status $status; $(cat stderr)"
}
has_names() {
  grep -q '	inner$' stdout && grep -q '	outer$' stdout || fail "$1: no names: $(cat stdout)"
  [ ! -s stderr ] || fail "$1: prof says: $(cat stderr)"
}
has_no_names() {
  grep -q '	inner$' stdout && fail "$1: there are names"
  grep -q '	#[0-9a-f]*$' stdout || fail "$1: no addresses: $(cat stdout)"
}
build_id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }

# Without a debug file it is said where that would be.
prepared by_id -Wl,--build-id
id=$(build_id by_id/by_id)
ran by_id/by_id
shown by_id/by_id
has_no_names "without a debug file"
grep -qxF "prof: by_id: stripped; not found: .build-id/${id:0:2}/${id:2:6}*.debug; see --debug-dir" stderr && [ "$(wc -L <stderr)" -le 80 ] ||
  fail "prof does not say where names would be: $(cat stderr)"
run prof --json by_id/prof.*
[ ! -s stderr ] || fail "prof --json says: $(cat stderr)"

# By its build-id, in a folder that is laid out as /usr/lib/debug; the nearest folder is named.
mkdir -p "debug/.build-id/${id:0:2}"
shown by_id/by_id --debug-dir "$PWD/debug"
grep -q "not found: $PWD/debug/.build-id/${id:0:2}/${id:2:6}\*.debug" stderr || fail "prof does not name the folder that was given: $(cat stderr)"
cp by_id/by_id.debug "debug/.build-id/${id:0:2}/${id:2}.debug"
shown by_id/by_id --debug-dir "$PWD/debug"
has_names "by build-id"
prof --json --debug-dir=debug by_id/prof.* | jq -e 'any(.functions[]; .name == "inner" and .calls == 2)' >/dev/null || fail "JSON has no names"
prof -d --debug-dir debug by_id/prof.* | grep 'inner:.*/2' >/dev/null || fail "the tree has no names"

# In the caches of debuginfod's client.
for cache in given=DEBUGINFOD_CACHE_PATH=$PWD/cache xdg=XDG_CACHE_HOME=$PWD/xdg home=HOME=$PWD/house old=HOME=$PWD/oldhouse; do
  kind=${cache%%=*} setting=${cache#*=}
  folder=${setting#*=}
  case $kind in
    xdg) folder+=/debuginfod_client ;;
    home) folder+=/.cache/debuginfod_client ;;
    old) folder+=/.debuginfod_client_cache ;;
  esac
  mkdir -p "$folder/$id"
  cp by_id/by_id.debug "$folder/$id/debuginfo"
  run env "$setting" prof by_id/prof.*
  has_names "in debuginfod's cache, $kind"
done
: >"cache/$id/debuginfo" # what no server had
run env DEBUGINFOD_CACHE_PATH="$PWD/cache" prof by_id/prof.*
has_no_names "an empty file in debuginfod's cache"
[ "$(grep -c . stderr)" = 1 ] || fail "prof says of an empty file in debuginfod's cache: $(cat stderr)"

# Another program's file, one that is damaged, and one that is no file.
prepared other -Wl,--build-id -DOTHER -O0
place=debug/.build-id/${id:0:2}/${id:2}.debug
cp other/other.debug "$place"
shown by_id/by_id --debug-dir debug
has_no_names "another program's debug file"
grep -q "^prof: $place: is not the debug file of .*/by_id.prof: its build-id is $(build_id other/other), not $id$" stderr || fail "of another's debug file prof says: $(cat stderr)"
head -c 3000 by_id/by_id.debug >"$place"
shown by_id/by_id --debug-dir debug
has_no_names "half a debug file"
echo nothing >"$place"
shown by_id/by_id --debug-dir debug
grep -q "^prof: $place: is not a 64-bit ELF program$" stderr || fail "of a file of text prof says: $(cat stderr)"
rm "$place" && mkfifo "$place"
shown by_id/by_id --debug-dir debug
has_no_names "a FIFO"

# By .gnu_debuglink, whose CRC tells. Beside the program, in .debug, and in the folder of debug files.
prepared by_link -Wl,--build-id=none
objcopy --add-gnu-debuglink=by_link/by_link.debug by_link/by_link
ran by_link/by_link
shown by_link/by_link
has_names "beside the program"
mkdir by_link/.debug && mv by_link/by_link.debug by_link/.debug/
shown by_link/by_link
has_names "in .debug"
mkdir -p "debug$PWD/by_link" && mv by_link/.debug/by_link.debug "debug$PWD/by_link/"
shown by_link/by_link --debug-dir "$PWD/debug"
has_names "in the folder of debug files"
shown by_link/by_link
grep -q "not found: .*/by_link.debug; see --debug-dir$" stderr || fail "prof does not say where the debug link leads: $(cat stderr)"
cp "debug$PWD/by_link/by_link.debug" by_link/by_link.debug
printf x >>by_link/by_link.debug
shown by_link/by_link
has_no_names "a wrong CRC"
grep -q "^prof: .*/by_link.debug: is not the debug file of .*: its CRC is not the one that .gnu_debuglink names$" stderr || fail "of a wrong CRC prof says: $(cat stderr)"

# prof run: the copy lies elsewhere.
mv by_link/by_link.debug by_link/wrong && mv "debug$PWD/by_link/by_link.debug" by_link/by_link.debug
mkdir runs && cd runs || fail "no folder"
run prof run ../by_link/by_link
grep -q '	inner$' stderr || fail "prof run finds no names: $(cat stderr)"
cd ..

# As Fedora has it: symbols in the program itself, packed by xz.
prepared packed -Wl,--build-id
objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbol=inner --keep-symbol=outer packed/packed.debug packed/mini
xz -k packed/mini
objcopy --add-section .gnu_debugdata=packed/mini.xz packed/packed
ran packed/packed
shown packed/packed
has_names "packed symbols"
head -c 200 packed/mini.xz >packed/cut.xz
objcopy --update-section .gnu_debugdata=packed/cut.xz packed/packed
ran packed/packed
shown packed/packed
has_no_names "damaged packed symbols"
dd if=/dev/zero bs=1M count=300 status=none | xz >packed/zeros.xz # more than any symbols take
objcopy --update-section .gnu_debugdata=packed/zeros.xz packed/packed
ran packed/packed
shown packed/packed
has_no_names "packed symbols that never end"

# Nothing leads to a debug file.
prepared lost -Wl,--build-id=none
ran lost/lost
shown lost/lost
grep -q '^prof: lost: stripped; nothing in it names a debug file$' stderr || fail "prof does not say that nothing leads to names: $(cat stderr)"

# profld takes the names in its patterns from the same places. Addresses go on being names.
hooked() {
  run profld "$@" --report report -o selected by_id/by_id
  [ "$status" = 0 ] || fail "profld $*: $(cat stderr)"
  jq .functions_instrumented report
}
rm "$place" && cp by_id/by_id.debug "$place"
[ "$(hooked -F inner --debug-dir debug)" = 1 ] || fail "profld -F finds no name in the debug file"
[ "$(hooked -N inner --debug-dir debug)" = $(($(hooked --debug-dir debug) - 1)) ] || fail "profld -N finds no name in the debug file"
address=$(nm by_id/by_id.full | sed -n 's/^0*\([0-9a-f]*\) t inner$/\1/p')
[ "$(hooked -F "#$address" --debug-dir debug)" = 1 ] || fail "profld -F finds no address where there is a debug file"
[ "$(hooked -F "inner" -F "#$address")" = 1 ] || fail "profld -F finds no address"

# What prof run keeps depends on the names that were there.
mv "$place" hidden && mkdir again && cd again || fail "no folder"
run prof run --debug-dir ../debug -N inner ../by_id/by_id
before=$(grep -c '	#' stderr)
mv ../hidden "../$place"
run prof run --debug-dir ../debug -N inner ../by_id/by_id
grep -q '	inner$' stderr && fail "prof run uses a copy that was made without the names: $(cat stderr)"
[ "$before" -ge 3 ] || fail "without names prof run left something out"
