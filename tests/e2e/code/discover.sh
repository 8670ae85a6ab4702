# Programs that neither symbols nor unwind tables say the functions of: these are found, and counted, as if there were tables.
. "${0%/*}/../common.inc"

# begin_at_symbols STRIPPED ORIGINAL: no hook is in a place that is no function's start by ORIGINAL's symbols. (The C library's, in a
# static program, are not all there.)
begin_at_symbols() {
  prof_map "$1.prof" | sort >starts
  nm "$2" | awk '{ sub(/^0*/, "0x"); print $1 }' | sort -u | comm -23 starts - >inside
  [ ! -s inside ] || fail "$1: hooks inside functions, at $(head -n 4 inside | paste -sd ' ')"
}
# The functions that have hooks.
prof_map() {
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$tests/tableless python3 -c '
import pathlib, sys, functions
print(*map(hex, functions.Found(pathlib.Path(sys.argv[1] + ".prof"), pathlib.Path(sys.argv[1] + ".report")).hooked), sep="\n")' "${1%.prof}"
}

# found SOURCE [OPTION...]: stripped, without tables of its own, it does the same as before; all calls that it prints are counted.
found() {
  local source=$1 compiler link program
  shift
  for compiler in gcc clang; do
    for link in $links; do
      # The calls below with one link type are of two ways, which are both gone.
      [[ $links != *" "*" "* ]] || turn || continue
      program=${source%.*}-$compiler-$link
      # shellcheck disable=SC2046 # lists of words
      CC=$compiler compile "$program" "$programs/$source" -O2 -fno-asynchronous-unwind-tables $(link_flags "$link") "$@"
      strip -o "stripped-$program" "$program"
      rewrite "stripped-$program" --discover
      profiled "stripped-$program"
      expect_calls_by_address "stripped-$program" "$program"
      case $link in *static*) ;; *) begin_at_symbols "stripped-$program" "$program" ;; esac
      [ -z "$doubtful" ] || [ "$(jq '[.skipped[] | select(.reason | endswith(" may be a part of another function"))] | length' "stripped-$program.report")" = "$doubtful" ] ||
        fail "$program: not $doubtful places that may be parts of functions: $(jq -c .skipped "stripped-$program.report")"
      rm -f "$program" "stripped-$program" "stripped-$program.prof"
    done
  done
}
doubtful=
found switch.c
found tail_calls.c
found cold.c
found zero_padding.c
found found_late.c
found found_by_address.c
found found_labels.c
found partly_described.c -fasynchronous-unwind-tables
found partly_described.c -fasynchronous-unwind-tables -DUNALIGNED
links="no-pie static" found unaligned.c
# Position-independent: only the ends of at_end and of with_cold_end may be functions.
doubtful=2 links=pie found inner_starts.c
links=no-pie found inner_starts.c
links="pie no-pie" found inner_starts.c -rdynamic
# What is in front of the function that jumps there, after it, and at a distance.
doubtful=5 links=pie found in_front.c
doubtful=6 links=no-pie found in_front.c

# What a run-time system finds by return address, through a register that is its own, stays, and what it calls or is called by;
# that, too, where unwind tables tell of C's functions and of the way in.
stays_in_place() { # stays_in_place FUNCTIONS FLAGS [OPTION]: so many do
  local link
  for link in pie no-pie; do
    # shellcheck disable=SC2046,SC2086 # lists of words
    compile own_frames "$programs/own_frames.c" -O2 $2 $(link_flags $link)
    strip own_frames
    rewrite own_frames "${@:3}"
    profiled own_frames
    [ "$(jq '[.skipped[] | select(.reason | test("register"))] | length' own_frames.report)" = "$1" ] ||
      fail "own_frames $*: $(jq -c .skipped own_frames.report)"
  done
}
stays_in_place 4 -fno-asynchronous-unwind-tables --discover
stays_in_place 1 -fasynchronous-unwind-tables

# An array of functions that is larger than the file: DT_FINI_ARRAYSZ is 1 << 62.
compile huge "$programs/switch.c" -O2 -fno-asynchronous-unwind-tables -no-pie
strip huge
python3 - huge <<'END' || fail "the program has no DT_FINI_ARRAYSZ"
import struct, sys
DYNAMIC, FINI_ARRAYSZ = 2, 28
data = bytearray(open(sys.argv[1], "rb").read())
table, = struct.unpack_from("<Q", data, 32)
count, = struct.unpack_from("<H", data, 56)
for at in range(table, table + 56 * count, 56):
    kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", data, at)
    if kind == DYNAMIC:
        entry = next(e for e in range(offset, offset + size, 16) if struct.unpack_from("<Q", data, e)[0] == FINI_ARRAYSZ)
struct.pack_into("<Q", data, entry + 8, 1 << 62)
open(sys.argv[1], "wb").write(data)
END
profld --discover -o huge.prof huge || fail "a huge array of functions: status $?"
