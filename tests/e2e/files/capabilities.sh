# Programs that a file gives rights: profld does not take them, and where a copy is given such rights, nothing is recorded of what
# somebody runs who has not got them.
. "${0%/*}/../common.inc"

# Others must be able to come here.
here=$(mktemp -d) || fail "mktemp"
trap 'rm -rf "$here"' EXIT
chmod 755 "$here"
cat >secure.c <<'C'
#include <stdio.h>
#include <sys/auxv.h>
int main(void) { printf("secure %lu\n", getauxval(AT_SECURE)); }
C
# capability FILE: gives it CAP_NET_BIND_SERVICE, as setcap does; prints the error.
capability() {
  python3 -c 'import os, struct, sys
try: os.setxattr(sys.argv[1], "security.capability", struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))
except OSError as e: print(e.strerror)' "$1"
}

for flags in "" -static; do
  compile secure secure.c $flags
  cp secure original
  refused=$(capability original)
  if [ -n "$refused" ]; then
    # Only root may; then there is nothing to refuse here.
    [ "$(id -u)" != 0 ] || fail "root may not give capabilities: $refused"
    rewrite original
    continue
  fi
  run profld -o original.prof original
  [ "$status" = 1 ] && [ ! -e original.prof ] && [ "$(wc -l <stderr)" = 1 ] && grep -q 'original: it has file capabilities, ' stderr ||
    fail "taken: status $status, $(cat stderr)"

  rewrite secure
  cp "$BUILD/lib/libprof.so" "$here"
  mkdir -p -m 777 "$here/open"
  rm -f "$here"/open/*
  if [ -z "$flags" ]; then
    # A library that others can come to.
    mkdir -p elsewhere/bin
    cp "$BUILD/bin/profld" elsewhere/bin
    ln -sfn "$here" elsewhere/lib
    elsewhere/bin/profld -o secure.prof secure || fail "profld in another place"
  fi
  cp secure.prof "$here/secure"
  chmod 755 "$here/secure"
  PROFDIR=$here/open run setpriv --reuid=65534 --clear-groups "$here/secure"
  [ "$status" = 0 ] && [ ! -s stderr ] && grep -qx 'secure 0' stdout && [ -n "$(ls "$here/open")" ] || fail "without rights: status $status, $(cat stdout stderr)"
  rm -f "$here"/open/*
  refused=$(capability "$here/secure")
  [ -z "$refused" ] || fail "capabilities on a copy: $refused"
  PROFDIR=$here/open run setpriv --reuid=65534 --clear-groups "$here/secure"
  [ "$status" = 0 ] && grep -qx 'secure 1' stdout && [ "$(wc -l <stderr)" = 1 ] && grep -q '^prof: .*more rights than the one who runs it' stderr ||
    fail "with rights: status $status, $(cat stdout stderr)"
  [ -z "$(ls "$here/open")" ] || fail "a program with file capabilities writes where its user says"
done
