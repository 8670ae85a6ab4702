# The profile of a running program is moved away or removed: the program goes on, and what was moved has all its calls.
. "${0%/*}/../common.inc"
. "${0%/*}/../controlled.inc"

compile controlled "$programs/controlled.c" -O1
rewrite controlled
for type in $types; do
  export PROFTYPE=$type
  for how in moved removed; do
    rm -rf controlled.profiles said
    mkdir controlled.profiles
    start controlled
    waits || fail "$type: it does not begin"
    [ -e "$path" ] || fail "$type: no profile"
    case $how in
      moved) mv "$path" controlled.profiles ;;
      removed) rm "$path" ;;
    esac
    goes_on
    while waits; do goes_on; done
    ends
    [ -z "$(ls profiles)" ] || fail "$type, $how: leaves $(ls profiles)"
    [ $how = removed ] || expect_calls controlled <said
  done
done
