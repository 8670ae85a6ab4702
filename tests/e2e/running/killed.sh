# kill -9 in mid-run: the profile shows every call made up to then.
. "${0%/*}/../common.inc"

for link in $links; do
  turn || continue
  # shellcheck disable=SC2046
  compile "$link" "$programs/killed.c" -O2 $(link_flags "$link")
  rewrite "$link"
  profiled "$link"
  [ "$status" = 137 ] || fail "$link: not killed: $status"
  expect_calls "$link" <"$link.stdout"
done

# From outside, at no moment of its own choice: at least what it said, and not more than one progress step beyond what it
# could have said unseen.
compile endless "$programs/endless.c" -O2
rewrite endless
mkdir endless.profiles
PROFDIR=endless.profiles ./endless.prof >progress &
victim=$!
until [ -s progress ]; do kill -0 $victim || fail "endless ended by itself"; sleep 0.1; done
flatten endless # while it runs
kill -KILL $victim
wait $victim 2>/dev/null
said=$(tail -n 1 progress)
flatten endless
called=$(awk -F'\t' '$2 == "round_of" { print $1 }' endless.calls)
[ "${said:-0}" -gt 0 ] && [ "${called:-0}" -ge "$said" ] && [ "$called" -le $((said + 200000)) ] ||
  fail "round_of: ${called:-no} calls in the profile, the program said ${said:-nothing}"

# In the first moment: the file is a profile already, of which not much is known, and is not called damaged.
compile early "$programs/tiny.c" -O2
for options in "" "-b --no-hooks"; do
  # shellcheck disable=SC2086 # a list of words
  profld $options -o early.prof early || fail "early: cannot rewrite"
  rm -rf early.profiles && mkdir early.profiles
  PROFTYPE=sample PROFDIR=early.profiles gdb -nx -batch -ex 'set breakpoint pending on' -ex 'break libprof::begin_sampling' \
    -ex run -ex kill ./early.prof >log 2>&1
  grep -q '^Breakpoint 1, ' log || fail "early $options: $(cat log)"
  run prof early.profiles/prof.*
  [ "$status" = 1 ] && grep -q 'the profile does not say which program it is of' stderr || fail "early $options: $status $(cat stderr)"
  # Beside one that is whole.
  PROFTYPE=sample PROFDIR=early.profiles ./early.prof >log 2>&1
  (cd early.profiles && prof --processes --json ../early.prof) >json 2>stderr && [ "$(jq length json)" = 1 ] ||
    fail "early $options, beside another: $(cat json stderr)"
done
