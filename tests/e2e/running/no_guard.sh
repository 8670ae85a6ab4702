# A stack without a guard page that overflows ends the program as it ends the original, wherever the runtime's memory lies.
. "${0%/*}/../common.inc"

for link in pie static; do
  # shellcheck disable=SC2046
  compile "$link" "$programs/no_guard.c" -O1 $(link_flags "$link")
  rewrite "$link"
  for type in $types; do
    export PROFTYPE=$type
    for size in 16 32 64 128; do
      for what in thread coroutine; do
        profiled "$link" $what $size
        [ "$status" = 139 ] || fail "$link, $what $size: ends with status $status, not by SIGSEGV"
        flatten "$link"
        grep -q 'deep' "$link.calls" || fail "$link, $what $size: no call was recorded"
      done
    done
  done
done
