# Functions that call what reads or skips the bytes after the call stay, as does what skips them; the others are counted.
. "${0%/*}/../common.inc"

for link in $links; do
  for options in "" -b --no-hooks\ -b; do
    turn || continue
    # shellcheck disable=SC2046 # lists of words
    compile "program-$link" "$programs/inline_data.c" -O2 $(link_flags "$link")
    # shellcheck disable=SC2086 # a list of words
    rewrite "program-$link" $options
    for callee in stored pushed jumped exchanged added with_frame found_by_other led_on; do
      jq -e --arg f "use_$callee" '[.skipped[] | select(.name == $f).reason | startswith("what it calls at ")] == [true]' \
        "program-$link.report" >/dev/null || fail "$link: use_$callee does not stay: $(jq -c .skipped "program-$link.report")"
    done
    profiled "program-$link"
    [ "$options" = "--no-hooks -b" ] || expect_calls "program-$link" <"program-$link.stdout"
  done
done
# In a library, through the linker's stubs and words.
for plt in "" -fno-plt; do
  compile library.so "$programs/inline_data.c" -O2 -fPIC -shared $plt
  profld --report library.report -o library.prof library.so >profld.log 2>&1 || fail "library: $(cat profld.log)"
  jq -e '[.skipped[] | select(.name == "use_stored")] | length == 1' library.report >/dev/null || fail "library: use_stored does not stay"
done
