# A program that gives up its right to make system calls: the runtime makes none that the program could notice, and what it
# cannot record for that reason it counts.
. "${0%/*}/../../libprof/common.inc"

hooked sandbox

# recorded FOLDED: no function is recorded more often than it was called, and with those lost all calls are there. FOLDED: how
# many are at least folded.
recorded() {
  awk -v folded="$1" '
    FILENAME == "stdout" { counted[$2] = $3; all += $3; next }
    /^total/ { recorded[$4] = $2; found += $2 }
    /^thread/ { lost += $5 }
    /^pid/ { lost += $10; folds += $12 }
    END {
      for (name in counted) if (recorded[name] > counted[name]) { print name, "called", counted[name], "recorded", recorded[name]; wrong = 1 }
      if (found + lost != all) { print all, "calls,", found, "recorded,", lost, "lost"; wrong = 1 }
      if (folds < folded) { print folds, "folded"; wrong = 1 }
      print lost + 0 >"lost"
      exit wrong
    }' stdout profile >calls.log || fail "$what: $(paste -sd ';' calls.log)"
}

for by in prctl seccomp instruction; do
  for action in 1 38 trap kill strict; do
    # What a program does by instructions of its own is not seen: the runtime's calls are refused, but must not kill.
    case $by-$action in instruction-kill | instruction-strict) continue ;; esac
    turn || continue
    what="$by, $action"
    calls=300000
    [ "$by-$action" = instruction-trap ] && calls=10000 # each is refused many times
    record sandbox $by $action $calls
    refused=$(sed -n 's/^calls on_refusal //p' stdout)
    case $by-$action in
      instruction-trap) [ "$refused" -gt 0 ] || fail "$what: no SIGSYS came" ;;
      *)
        # A program that would not have been told must not be.
        [ "$refused" = 0 ] || fail "$what: $refused times SIGSYS"
        ;;
    esac
    recorded 1
    [ "$by-$action" = instruction-trap ] || [ "$(cat lost)" = 0 ] || fail "$what: $(cat lost) lost"
  done
done

# The calls that kill are none of the program's: it goes on with threads and children, and ends.
for by in prctl seccomp; do
  for type in $types; do
    turn || continue
    what="$by, few, $type"
    export PROFTYPE=$type
    record sandbox $by few 100000
    recorded 1
  done
done
