# The papers say what is so: CHANGELOG begins with the version, the tests that docs/HARDCASES names are there, and so is what
# README says to be where; docs/glossary is in the order of the alphabet.
. "${0%/*}/../common.inc"

top=$tests/..
grep -m 1 -E '^[0-9]' "$top/CHANGELOG" | grep -qF "$version," || fail "CHANGELOG does not begin with $version"

grep -oE '[A-Za-z0-9_*/-]+(\.sh|_test\.cc)' "$top/docs/HARDCASES" | sort -u >named
[ "$(wc -l <named)" -gt 50 ] || fail "docs/HARDCASES names hardly a test"
while read -r test; do
  [ -n "$(find "$tests" -path "*/$test")" ] || fail "docs/HARDCASES: there is no $test"
done <named

sed -n '/^What is where$/,$s/^    \([^ ][^ ]*\)  *[^ ].*/\1/p' "$top/README" >places
[ -s places ] || fail "README does not say what is where"
while read -r place; do [ -e "$top/$place" ] || fail "README: there is no $place"; done <places

grep -E '^[^ ]' "$top/docs/glossary" | tail -n +4 >words # after the title
[ -s words ] && sort -f -c words 2>order || fail "docs/glossary: $(cat order)"
