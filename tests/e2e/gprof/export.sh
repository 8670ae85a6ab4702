# GNU gprof reads the exported gmon.out and agrees: the same calls, and to its two decimals the same seconds.
. "${0%/*}/../common.inc"

for link in $links; do
  turn || continue
  # shellcheck disable=SC2046
  compile "$link" "$programs/collatz.c" -O2 -fno-inline $(link_flags "$link")
  rewrite "$link"
  profiled "$link"
  prof -g gmon.out "$link.prof" "$link.profiles"/prof.* >prof.log 2>&1 || fail "prof -g: $(tail -n 2 prof.log)"
  flatten "$link"
  hz=$(jq .tsc_hz "$link.json")
  gprof -b -p "$link" gmon.out >flat 2>gprof.log || fail "gprof: $(tail -n 2 gprof.log)"
  for function in step nseq main; do
    read -r calls cycles < <(jq -r --arg f $function '
      (.functions[] | select(.name == $f)) as $own | [.functions[] | select(.imported and $f == "main").self_cycles] |
      "\($own.calls) \($own.self_cycles + add)"' "$link.json") # the imports are called by main
    # gprof leaves the calls of a function empty that nobody known called.
    read -r seconds shown < <(awk -v f=$function '$NF == f { print $3, (NF > 4 ? $4 : "-") }' flat)
    [ "${shown:-none}" = "$calls" ] || fail "$link: gprof says ${shown:-nothing} calls of $function, prof $calls"
    awk -v a="$seconds" -v c="$cycles" -v hz="$hz" 'BEGIN { d = a - c / hz; exit !(d < 0.0051 && d > -0.0051) }' ||
      fail "$link: gprof says $seconds s in $function, prof $cycles cycles of $hz Hz"
  done
  gprof -b -q "$link" gmon.out >graph 2>gprof.log || fail "gprof -q: $(tail -n 2 gprof.log)"
  grep -qE '62135400/62135400 +step ' graph || fail "$link: no arc to step: $(grep step graph | head -n 3)"
  grep -qE '499999/499999 +nseq ' graph || fail "$link: no arc to nseq: $(grep nseq graph | head -n 3)"
done
