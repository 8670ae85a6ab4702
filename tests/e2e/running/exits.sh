# However a program ends, it ends the same way, its exit functions run in the same order, and its profile is complete.
. "${0%/*}/../common.inc"

for link in $links; do
  turn || continue
  # shellcheck disable=SC2046
  compile "$link" "$programs/exits.c" -O2 $(link_flags "$link")
  rewrite "$link"
  for arguments in "" "return 5" "exit 0" "exit 3" "exit 255" "_exit 4" "quick_exit 6" "abort" "trap" "fault" "raise 15" "raise 9" "raise 11"; do
    # shellcheck disable=SC2086
    profiled "$link" $arguments
    expect_calls "$link" <"$link.stdout"
  done
done
