# What stands after the end of a program's file: the copy finds it as the original does.
. "${0%/*}/../common.inc"

# append PROGRAM ALIGNMENT: a payload, at a multiple of that, and its trailer.
append() {
  python3 - "$@" <<'PY' || fail "cannot append to $1"
import os, struct, sys
program, alignment = sys.argv[1], int(sys.argv[2])
end = os.path.getsize(program)
start = -(-end // alignment) * alignment
payload = b'hello from behind'.ljust(5000, b'\0')
with open(program, 'ab') as f:
    f.write(bytes(start - end) + payload + struct.pack('<8sQQ', b'trailer!', start, len(payload) + 24))
PY
}
# found PROGRAM WAY...: in these ways, with all kinds of copies.
found() {
  local program=$1 options way
  shift
  for options in "" -b --no-hooks; do
    # shellcheck disable=SC2086 # a list of words
    rewrite "$program" $options
    for way; do
      if [ "$options" = --no-hooks ]; then
        run "./$program.prof" "$way"
        [ "$status" = 0 ] && grep -qx 'hello from behind' stdout || fail "$program $options $way: $status $(cat stdout)"
        continue
      fi
      profiled "$program" "$way"
      grep -qx 'hello from behind' "$program.stdout" || fail "$program $way does not work: $(cat "$program.stdout")"
      [ -n "$options" ] || expect_calls "$program" <"$program.stdout"
    done
  done
}
for link in $links; do
  [ "$link" = pie ] || turn || continue # it is used below
  # shellcheck disable=SC2046 # lists of words
  compile "$link" "$programs/payload.c" -O1 $(link_flags "$link")
  cp "$link" "$link-pages"
  append "$link" 1
  found "$link" end offset headers
  append "$link-pages" 4096
  found "$link-pages" end offset mapped
done

# The copy ends with the payload, and with nothing else.
payload=$((5000 + 24))
cmp <(tail -c $payload pie) <(tail -c $payload pie.prof) || fail "the copy's payload is another"

# Without section headers.
python3 - pie bare <<'PY'
import sys
d = bytearray(open(sys.argv[1], 'rb').read())
d[40:48] = bytes(8)   # e_shoff
d[60:64] = bytes(4)   # e_shnum, e_shstrndx
open(sys.argv[2], 'wb').write(d)
PY
chmod +x bare
rewrite bare
for way in end offset; do profiled bare $way; done

# By prof run.
run prof run ./pie end
grep -qx 'hello from behind' stdout || fail "prof run: $(cat stdout stderr)"

# A zip archive, whose directory has places in the archive, or places in the file.
compile plain "$programs/payload.c" -O1
python3 - <<'PY' || fail "cannot make archives"
import shutil, zipfile
with zipfile.ZipFile('only.zip', 'w') as z: z.writestr('a', 'text of a'); z.writestr('b', 'text of b' * 1000)
with open('archive', 'wb') as f:
    for part in 'plain', 'only.zip': f.write(open(part, 'rb').read())
shutil.copy('plain', 'file')
with zipfile.ZipFile('file', 'a') as z: z.writestr('a', 'text of a'); z.writestr('b', 'text of b' * 1000)
PY
chmod +x archive
for program in archive file; do
  rewrite $program
  run python3 -c "
import zipfile
z = zipfile.ZipFile('$program.prof')
assert z.testzip() is None and z.read('a') == b'text of a' and z.read('b') == b'text of b' * 1000"
  [ "$status" = 0 ] || fail "the zip archive in the copy of $program: $(tail -n 1 stderr)"
done
