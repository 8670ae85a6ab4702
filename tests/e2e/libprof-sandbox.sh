# A program that gives up its right to make system calls: the runtime's fail as well, and what it cannot record it counts.
. "$(dirname "$0")/../libprof/common.inc"

hooked sandbox
for how in 1 38 trap; do
  record sandbox $how 300000
  if [ $how = trap ]; then
    [ "$(sed -n 's/^calls on_refusal //p' stdout)" -gt 0 ] || fail "no SIGSYS came"
  fi
  awk -v how="$how" '
    FILENAME == "stdout" { counted[$2] = $3; all += $3; next }
    /^total/ { recorded[$4] = $2; found += $2 }
    /^thread/ { lost += $5 }
    /^pid/ { lost += $10; folded = $12 }
    END {
      for (name in counted) if (recorded[name] > counted[name]) { print name, "called", counted[name], "recorded", recorded[name]; wrong = 1 }
      if (found + lost != all) { print all, "calls,", found, "recorded,", lost, "lost"; wrong = 1 }
      if (how != "trap" && lost > 0) { print lost, "lost"; wrong = 1 }
      if (folded == 0) { print "nothing folded"; wrong = 1 }
      exit wrong
    }' stdout profile >calls.log || fail "$how: $(paste -sd ';' calls.log)"
done
