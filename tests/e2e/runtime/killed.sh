# SIGKILL at any instant leaves a profile with every call made up to then: at most one call of each function is in one
# count and not yet in the other.
. "${0%/*}/../../libprof/common.inc"

hooked killed
for type in $types; do
  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    rm -rf profiles words
    mkdir profiles
    PROFTYPE=$type PROFDIR=profiles ./killed words &
    pid=$!
    until [ -s words ] && [ "$(od -An -t u8 -N8 words)" -gt 0 ]; do
      kill -0 $pid || fail "$type: it ended by itself"
      sleep 0.01
    done
    sleep "0.0$i"
    kill -KILL $pid
    { wait $pid; } 2>/dev/null
    dump_profiles
    grep -qx 'implausible times 0' profile || fail "$type: impossible times after a kill"
    read -r f g h <<<"$(od -An -t u8 -w24 -N24 words)"
    for pair in "f $f" "g $g" "h $h"; do
      recorded=$(awk -v name="${pair% *}" '$1 == "total" && $4 == name { print $2 }' profile)
      difference=$((recorded - ${pair#* }))
      if [ $difference != 0 ] && [ $difference != 1 ]; then fail "$type: ${pair% *} called ${pair#* } times, recorded $recorded"; fi
    done
  done
done
