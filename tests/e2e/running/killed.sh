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
