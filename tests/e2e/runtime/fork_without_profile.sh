# A handler that interrupts the hooks at any instruction forks, and the child gets no profile, since it may open no file: it goes on
# in the hook all the same.
. "${0%/*}/../../libprof/common.inc"

hooked fork_without_profile
for PROFTYPE in time elapsed adaptive count; do
  turn || continue
  export PROFTYPE
  rm -rf profiles
  mkdir profiles
  PROFDIR=profiles run ./fork_without_profile
  [ "$status" = 0 ] && ! grep -q '^bad' stdout || fail "$PROFTYPE: status $status, $(grep -c '^bad' stdout) children crashed, $(grep -m 3 '^bad' stdout | paste -sd ';') $(head -n 2 stderr)"
  [ "$(sed -n 's/^forks //p' stdout)" -gt 100 ] || fail "$PROFTYPE: $(cat stdout)"
done
