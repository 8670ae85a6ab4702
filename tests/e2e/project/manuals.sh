# The manual pages are well-formed and name every option that --help names. Every option, and every variable of the
# environment, is there, is in --help, and is used by a test.
. "${0%/*}/../common.inc"

for page in "$tests"/../man/*.[1-9]; do
  run mandoc -Tlint -W warning "$page"
  [ "$status" = 0 ] || fail "$page: $(head -n 3 stdout)"
done
for program in profld prof "prof tui" "prof diff" "prof compare" "prof gprof" "prof trace" "prof itrace" "prof istat" proftarget; do
  page=${program%% *}.1
  case $program in "prof gprof" | "prof trace" | "prof itrace" | "prof istat") page=${program/ /-}.1 ;; esac
  mandoc -Tascii "$tests/../man/$page" | sed 's,.\x08,,g' >page
  # shellcheck disable=SC2086 # a program and a command of it
  $program --help | grep -oE '(^|[ [,|])--?[A-Za-z][-a-z]*' | tr -d ' [,|' | sort -u >options
  [ -s options ] || fail "$program --help names no options"
  while read -r option; do grep -qF -e "$option" page || fail "$page does not name $option"; done <options
done

# A word of a test is a use of it.
cat "$tests"/e2e/*/*.sh "$tests"/e2e/*.inc >all
for program in profld prof; do
  "$program" --help | grep -oE '^ +(-[A-Za-z], )?--[a-z-]+' | grep -oE -e '--[a-z-]+' | sort -u >options
  mandoc -Tascii "$tests/../man/$program.1" | sed 's,.\x08,,g' | grep -oE '(^|[^-a-z])--[a-z]+(-[a-z]+)*' | grep -oE -e '--.*' | sort -u >>options
  sort -u options | grep -vxF -e --include-only >words
  while read -r option; do
    grep -qE -e "(^|[^-a-z])$option([^-a-z]|$)" all || fail "no test uses $program $option"
    "$program" "$option" 2>&1 </dev/null | grep -q 'no such option' && [ "$program" = profld ] && fail "$program has no $option"
  done <words
done
profld --help >help
prof --help >>help
for variable in $(grep -rohE --include='*.cc' '"PROF[A-Z]+"' "$tests"/../libprof/data/settings.cc "$tests"/../prof | tr -d '"' | sort -u); do
  grep -q "$variable" help || fail "--help does not name $variable"
  grep -qE "^\.It Ev $variable" "$tests"/../man/*.1 || fail "no manual has $variable"
  grep -q "$variable=" all || fail "no test sets $variable"
done
for variable in $(grep -ohE '^\.It Ev PROF[A-Z]+' "$tests"/../man/*.1 | cut -d ' ' -f 3 | sort -u); do
  grep -rq "\"$variable\"" "$tests"/../libprof "$tests"/../prof || fail "$variable is in a manual only"
done
