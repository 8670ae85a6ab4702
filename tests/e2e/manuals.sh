# The manual pages are well-formed and name every option that --help names.
. "${0%/*}/common.inc"

for page in "$tests"/../man/*.[1-9]; do
  run mandoc -Tlint -W warning "$page"
  [ "$status" = 0 ] || fail "$page: $(head -n 3 stdout)"
done
for program in profld prof; do
  mandoc -Tascii "$tests/../man/$program.1" | sed 's,.\x08,,g' >page
  "$program" --help | grep -oE '(^|[ [,|])--?[A-Za-z][-a-z]*' | tr -d ' [,|' | sort -u >options
  [ -s options ] || fail "$program --help names no options"
  while read -r option; do grep -qF -e "$option" page || fail "$program.1 does not name $option"; done <options
done
