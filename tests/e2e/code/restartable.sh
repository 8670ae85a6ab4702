# A restartable sequence stays in place, wherever it is described, and the report says why; the functions around it are
# counted.
. "${0%/*}/../common.inc"

for link in $links; do
  for section in __rseq_cs .data.rel.ro; do
    turn || continue
    # shellcheck disable=SC2046 # lists of words
    compile program "$programs/restartable.c" -O2 "-DDESCRIBED=\"$section\"" $(link_flags "$link")
    rewrite program
    jq -e '[.skipped[] | select(.name == "add_here").reason] == ["it has a restartable sequence (rseq), which the kernel begins again by its address"]' program.report >/dev/null ||
      fail "$link, $section: $(jq -c .skipped program.report)"
    profiled program
    expect_calls program <program.stdout
  done
done
