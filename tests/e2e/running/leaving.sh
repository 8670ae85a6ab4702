# After an exception or a jump out of functions, the tree goes on at the function that control came back to.
. "${0%/*}/../common.inc"

cat >expected <<'END'
1 main
10 main catches
5 main catches after_throw
10 main catches next
10 main catches passes
10 main catches passes in_destructor
5 main catches passes next
10 main catches passes thrower
10 main catches passes thrower next
5 main catches_again
5 main catches_again after_rethrow
5 main catches_again rethrows
5 main catches_again rethrows after_throw
5 main catches_again rethrows passes
5 main catches_again rethrows passes in_destructor
5 main catches_again rethrows passes thrower
5 main catches_again rethrows passes thrower next
4 main lands
4 main lands after_jump
4 main lands jumper
3 main lands jumper jumper
2 main lands jumper jumper jumper
1 main lands jumper jumper jumper jumper
13 main lands_from_signal
13 main lands_from_signal after_signal
13 main lands_from_signal signalled
13 main lands_from_signal signalled next
13 main lands_from_signal signalled on_signal
13 main lands_from_signal signalled on_signal next
1 main next
END
# The program's own functions only: in a static program others lie between them.
tree() {
  jq -r '.functions as $f | .tree as $t |
    def own: ["main", "next", "after_throw", "after_rethrow", "after_jump", "after_signal", "in_destructor", "thrower", "passes", "catches", "rethrows",
      "catches_again", "jumper", "lands", "on_signal", "signalled", "lands_from_signal"];
    def path($i): if $i < 0 then [] else path($t[$i].parent) + [$f[$t[$i].function].name | select(IN(own[]))] end;
    range($t | length) | select($f[$t[.].function].name | IN(own[])) | "\($t[.].calls) \(path(.) | join(" "))"' "$1.json" |
    awk '{ n = $1; sub(/^[0-9]* /, ""); calls[$0] += n } END { for (path in calls) print calls[path], path }' | sort -k2
}
for link in $links; do
  for options in "gcc -O0" "gcc -O2" "clang -O2"; do
    turn || continue
    program=${options/ /}-$link
    # shellcheck disable=SC2046,SC2086 # lists of words
    CC=${options% *} compile "$program" "$programs/leaving.cc" ${options#* } -fno-optimize-sibling-calls $(link_flags "$link")
    rewrite "$program"
    for type in $types; do
      PROFTYPE=$type profiled "$program"
      flatten "$program"
      tree "$program" >found
      diff <(sort -k2 expected) found >difference || fail "$program, $type: $(grep '^[<>]' difference | head -n 6)"
    done
  done
done
