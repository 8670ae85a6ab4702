# Libraries of the system as they are: programs answer the same with copies of all that they need, the C library among them;
# functions of a library that a program calls are counted.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

# copies_for PROGRAM: of all libraries that it needs, but for the dynamic linker.
copies_for() {
  local file
  for file in $(ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'); do
    [ ! -f "copy/${file##*/}" ] || continue
    cp -L "$file" plain/
    library "${file##*/}"
    jq -e '.functions_instrumented + (.left_out | length) >= 0.995 * .functions_total' "copy/${file##*/}.report" >/dev/null ||
      fail "$file: $(jq -c '[.functions_instrumented, (.left_out | length), .functions_total]' "copy/${file##*/}.report")"
  done
}

cp "$programs/imports.c" words # any text
cat >text.py <<'PY'
import json, zlib, math, decimal, re
data = json.dumps([{"n": n, "root": math.sqrt(n), "text": "x" * n} for n in range(200)])
packed = zlib.compress(data.encode())
print(len(data), len(packed), zlib.decompress(packed).decode() == data, decimal.Decimal(2).sqrt())
print(sorted(re.findall(r"root\W+([0-9.]+)", data))[:5], "%.17g" % math.gamma(4.5))
PY
while read -r command; do
  copies_for "$(type -P "${command%% *}")"
  # shellcheck disable=SC2086 # a list of words
  with_copies $command
done <<COMMANDS
/bin/ls -l words text.py
/usr/bin/sort -n words
/usr/bin/bzip2 -c words
/usr/bin/date -d @86400 +%A-%c
/bin/sed s/int/INT/g words
/bin/grep -c the words
/bin/cat missing
/bin/false
/usr/bin/perl -ne @w{split}=();END{print(join(q(,),sort(keys(%w))))} words
/usr/bin/python3.11 text.py
/usr/bin/git --no-pager diff --no-index --stat words text.py
/usr/bin/xz -c words
/usr/bin/env sh -c sort<words|uniq|wc
COMMANDS

compile program "$programs/library_user.cc" -O1 -lz
copies_for ./program
with_copies ./program
[ "$status" = 5 ] || fail "program: status $status"
same_calls "program" <<CALLS
calls crc32 100
calls compress2 10
calls uncompress 10
CALLS
# What the runtime calls itself is not counted.
! grep -q dlopen recorded || fail "$(grep dlopen recorded)"
