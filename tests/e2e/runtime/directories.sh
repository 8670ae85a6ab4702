# Where profiles go: no link of somebody else's is followed, nobody's rights are exceeded, and a directory that is full, not
# writable or gone is said, not felt.
. "${0%/*}/../../libprof/common.inc"

hooked bounds
./bounds wide >expected
rm -f prof.*
unchanged() {
  cmp -s stdout expected && [ "$status" = 0 ] || fail "$1: the program behaves differently: status $status, $(cat stderr)"
}
# refused REASON
refused() {
  unchanged "$1"
  [ "$(wc -l <stderr)" = 1 ] && grep -q "^prof: .*$1" stderr || fail "$1: says $(cat stderr)"
}

# Links in the middle of $PROFDIR: those of root and the user's own are followed, those of others are not.
mkdir real
ln -s real/. own
mkdir -p way && ln -s ../own way/further
PROFDIR=way/further run ./bounds wide
unchanged "own links"
[ -n "$(ls real)" ] && [ ! -s stderr ] || fail "a link of the user's own is not followed: $(cat stderr)"
ln -s "$PWD/own" absolute
rm -f real/*
PROFDIR=$PWD/absolute/../real run ./bounds wide
[ -n "$(ls real)" ] || fail "an absolute link of the user's own is not followed: $(cat stderr)"
ln -s loop loop
PROFDIR=loop run ./bounds wide
refused "belongs to somebody else"
if [ "$(id -u)" = 0 ]; then
  # Others must be able to come here.
  here=$(mktemp -d) || fail "mktemp"
  trap 'rm -rf "$here"' EXIT
  chmod 755 "$here"
  cp -a dump expected real "$here"
  cp "$BUILD/lib/libprof.so" "$here"
  cd "$here" || exit 1
  gcc -O1 -fPIC -pthread -o bounds "$hand/bounds.c" libprof.so -Wl,-rpath,"$here" || fail "cannot compile"
  rm -f real/*
  ln -s real foreign
  chown -h 65534:65534 foreign
  PROFDIR=foreign run ./bounds wide
  refused "belongs to somebody else"
  PROFDIR=foreign/. run ./bounds wide
  refused "belongs to somebody else"
  [ -z "$(ls real)" ] || fail "a link of somebody else's was followed"

  # Not writable.
  chmod 711 real
  chmod 755 . bounds
  PROFDIR=real run setpriv --reuid=65534 --clear-groups ./bounds wide
  refused "permission denied"

  # Set-user-ID: neither written nor read.
  mkdir -m 777 open
  cp bounds secure
  chmod 4755 secure
  PROFDIR=open run setpriv --reuid=65534 --clear-groups ./secure wide
  refused "more rights than the one who runs it"
  [ -z "$(ls open)" ] || fail "a set-user-ID program writes where its user says"

  # A full disk: what fits is recorded, and counts stay exact.
  cat >full.sh <<'SCRIPT'
mkdir -p disk && mount -t tmpfs -o size=1m none disk || exit 99
trap 'umount disk' EXIT
PROFDIR=disk ./bounds contexts 300000 >stdout 2>stderr
status=$?
mkdir -p profiles && rm -f profiles/* && cp --sparse=always disk/prof.* profiles
PROFDIR=disk ./bounds wide >stdout.second 2>stderr.second || status=98
exit $status
SCRIPT
  # In a chroot the root is no mount, whose propagation could be changed.
  unshare -m --propagation unchanged bash full.sh
  status=$?
  [ $status = 0 ] && [ ! -s stderr ] || fail "full disk: status $status, $(cat stderr)"
  dump_profiles
  same_calls "full disk"
  [ "$(header folded)" -gt 0 ] && [ $(($(header flags) & 2)) = 2 ] || fail "full disk: $(head -n 1 profile)"
  cmp -s stdout.second expected && grep -q 'no space left' stderr.second || fail "no room at all: says $(cat stderr.second)"
  cd - >/dev/null || exit 1
fi

# The directory vanishes while the program runs.
cat >vanish.c <<'PROGRAM'
#include <stdio.h>
#include <stdlib.h>
#include "hooked.h"
int down(int), leaf(int);
HOOKED(down);
HOOKED(leaf);
int leaf_body(int x) { return x; }
int down_body(int x) { return x > 0 ? leaf(x) + down(x - 1) + (x % 8 ? 0 : down(x - 3)) : 0; }
int main(void) {
  leaf(1);
  if (system("rm -rf gone")) return 1;
  printf("%d\n", down(60));
}
PROGRAM
gcc -O1 -w -fPIC -I"$hand" -o vanish vanish.c "$BUILD/lib/libprof.so" -Wl,-rpath,"$BUILD/lib" || fail "cannot compile"
mkdir gone
PROFDIR=gone run ./vanish
[ "$status" = 0 ] && [ ! -s stderr ] && [ -s stdout ] && [ ! -e gone ] || fail "vanished directory: status $status, $(cat stderr)"

# No descriptors.
printf '#!/bin/bash\nulimit -n 3\nexec ./static.prof\n' >limited
compile static "$programs/recursion.c" -O1 -static
rewrite static
./static >expected
run bash limited
refused "too many open files"

# The library is missing: the loader says which.
mkdir -p elsewhere/bin elsewhere/lib
cp "$BUILD/bin/profld" elsewhere/bin
cp "$BUILD/lib/libprof.so" elsewhere/lib
compile shared "$programs/recursion.c" -O1
elsewhere/bin/profld -o shared.prof shared || fail "profld in another place"
./shared.prof >stdout || fail "libprof in another place"
rm elsewhere/lib/libprof.so
run env -u LD_LIBRARY_PATH ./shared.prof
[ "$status" = 127 ] && [ ! -s stdout ] && grep -q 'libprof.so: cannot open shared object file' stderr || fail "missing libprof.so: status $status, $(cat stderr)"
rm -f prof.*
