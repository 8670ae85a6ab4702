# The same program gives the same copy, byte for byte, and a copy has a build-id of its own.
. "${0%/*}/../common.inc"

for link in $links; do
  turn || continue
  # shellcheck disable=SC2046
  compile "$link" "$programs/exceptions.cc" -O2 $(link_flags "$link") -Wl,--build-id
  run profld -o first "$link"
  mkdir -p elsewhere
  cp "$link" elsewhere/again
  run profld -o elsewhere/second elsewhere/again
  cmp first elsewhere/second || fail "$link: two copies differ"
  identity() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
  [ -n "$(identity first)" ] && [ "$(identity first)" != "$(identity "$link")" ] || fail "$link: build-id $(identity first) of $(identity "$link")"
done
