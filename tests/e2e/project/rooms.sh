# Each room of the rewriter, of the runtime and of the reader uses only those before it: docs/architecture lists them in order.
. "${0%/*}/../common.inc"

top=$(cd "$tests/.." && pwd)
# wrong FOLDER PROGRAM: a line for each include of a file of the program there that it must not have.
wrong() {
  grep -rHoE '^#include "[^"]+"' "$1/$2" | sed "s#^$1/##" | awk -v program="$2" -v rooms="$rooms" -v shared="$shared" '
    BEGIN { n = split(rooms, room, " "); for (i = 1; i <= n; i++) rank[room[i]] = i }
    # The room that a path names a file of: its folder, below that of the program; "" if it is in none.
    function room_of(path) {
      if (index(path, program "/") != 1 || !match(path, /\/[^\/]*$/)) return ""
      path = substr(path, length(program) + 2, RSTART - length(program) - 2)
      return path in rank ? path : ""
    }
    {
      file = substr($0, 1, index($0, ":") - 1)
      included = substr($0, index($0, "\"") + 1)
      sub(/"$/, "", included)
      from = room_of(file)
      if (from == "") next                               # main.cc and its like know all rooms
      if (index(included, "/") == 0) next                # its own room
      if (program == "libprof" && included ~ /^libprof\/(format\/|[^\/]*$)/) next # with the two headers beside the rooms
      if ((program != "libprof" && included ~ /^libprof\//) || included ~ /^linker-rewrite\/(text|names|options)\// || index(" " shared " ", " " included " ")) next # what the programs share
      to = room_of(included)
      if (to == "" || rank[to] > rank[from]) print file " includes " included
    }'
}

# crowded FOLDER: a line for each folder there with more units than one can keep in mind. A unit is a source, its header, or both.
crowded() {
  find "$1" -name '*.[chS]*' -printf '%P\n' | sed 's/\.[a-zA-Z]*$//' | sort -u | sed 's#[^/]*$##' | uniq -c | awk '$1 > 25 { print $2 " has " $1 " units" }'
}

# holds PROGRAM HEADING ROOM...: these rooms are listed below the heading, are all there are, keep their order, and are not
# crowded. A room may have rooms, which are listed below it, and then has no source of its own.
holds() {
  local program=$1 heading=$2 folder
  shift 2
  rooms=$(awk -v heading="$heading" '
    $0 == heading { inside = 1; next }
    inside && /^-+$/ { next }
    /^[A-Z][a-z ]*$/ { inside = 0 }
    inside && /^    (  )?[a-z0-9]+\/( |$)/ {
      name = $1
      sub(/\/.*/, "", name)
      if (/^     /) {
        if (n && room[n] == outer) n--
        name = outer "/" name
      } else {
        outer = name
      }
      room[++n] = name
    }
    END { for (i = 1; i <= n; i++) print room[i] }' "$top/docs/architecture" | paste -sd ' ')
  [ "$rooms" = "$*" ] || fail "docs/architecture lists the rooms $rooms of $program"
  for folder in "$@"; do [ -d "$top/$program/$folder" ] || fail "there is no room $folder"; done
  while IFS= read -r folder; do
    [[ " $rooms " = *" $folder "* ]] || fail "docs/architecture does not list $program/$folder"
  done < <(cd "$top/$program" && find . -mindepth 2 -name '*.[chS]*' -printf '%P\n' | sed 's#/[^/]*$##' | sort -u)
  [ -z "$(wrong "$top" "$program")" ] || fail "$(wrong "$top" "$program" | head -n 3)"
  [ -z "$(crowded "$top/$program")" ] || fail "$program/$(crowded "$top/$program" | head -n 1); let it have rooms"
}
# What prof uses of the rewriter, beside what it knows of text, names and options: one reader of notes is enough, one decoder
# of instructions, and both look for debug files in the same places, and find the same operands in memory.
shared="linker-rewrite/elf/notes.h linker-rewrite/elf/debug_files.h linker-rewrite/x86/decoder.h linker-rewrite/x86/memory_operands.h"
holds linker-rewrite "The rewriter" text names options base elf x86 unwind program jumps discover decide blocks move write

# The check sees an include that goes the wrong way.
mkdir -p linker-rewrite/elf linker-rewrite/write
echo '#include "linker-rewrite/write/layout.h"' >linker-rewrite/elf/image.cc
echo '#include "linker-rewrite/elf/image.h"' >linker-rewrite/write/layout.cc
[ "$(wrong "$PWD" linker-rewrite)" = "linker-rewrite/elf/image.cc includes linker-rewrite/write/layout.h" ] ||
  fail "an include that goes the wrong way is not seen"

mkdir -p prof/read
printf '#include "linker-rewrite/elf/%s.h"\n' notes image >prof/read/elf_file.cc
rooms="read model"
[ "$(wrong "$PWD" prof)" = "prof/read/elf_file.cc includes linker-rewrite/elf/image.h" ] ||
  fail "what prof includes of the rewriter is not seen"

# Nor one between the rooms of a room, or to them.
mkdir -p prof/model/tree prof/model/gmon
echo '#include "prof/model/gmon/graph.h"' | tee prof/model/tree/tree.cc >prof/model/gmon/graph.cc
printf '#include "prof/model/%s.h"\n' tree/tree gmon/graph >prof/read/elf_file.cc
rooms="read model/tree model/gmon"
[ "$(wrong "$PWD" prof | sort | paste -sd ' ')" = "prof/model/tree/tree.cc includes prof/model/gmon/graph.h \
prof/read/elf_file.cc includes prof/model/gmon/graph.h prof/read/elf_file.cc includes prof/model/tree/tree.h" ] ||
  fail "an include that goes the wrong way between the rooms of a room is not seen"

holds prof "The reader" read unwind sample model/{program,tree,blocks,gmon,compare,analysis} \
  views/{text,run,code,compare} \
  gprof/{graph,symbols,report} export page tui \
  commands/{options,copies,launching,showing,verbs} instructions/{trace,statistics,remote,target,commands}

# A folder with too many units is seen.
mkdir -p crowd/room
touch crowd/room/{a..z}.cc crowd/room/{a..z}.h
[ "$(crowded crowd)" = "room/ has 26 units" ] || fail "a crowded room is not seen: $(crowded crowd)"

# The runtime, besides: no circle of units that include each other, a header and a source of one name being one unit; and what
# traces instructions is asked by life/ alone, through one header.
holds libprof "The runtime" format kernel data clock file hooks stack trace life sampler audit
# circles FOLDER: units of the runtime there that are in a circle of includes, each on a line.
circles() {
  (cd "$1" && grep -rHoE '^#include "[^"]+"' libprof) | awk -F '[:"]' '
    {
      folder = $1; sub(/[^\/]*$/, "", folder)
      from = $1; to = index($3, "/") ? $3 : folder $3
      sub(/\.[a-zS]+$/, "", from); sub(/\.[a-zS]+$/, "", to)
      if (from != to) print from, to
    }' | tsort 2>&1 >/dev/null | sed 's/^tsort: //' | grep -v '^-'
}
# around_trace FOLDER: includes of the room trace/ that it should not have.
around_trace() {
  (cd "$1" && grep -rHE '^#include "libprof/trace/' libprof) | grep -vE '^libprof/life/[a-z_]+\.cc:#include "libprof/trace/trace.h"$'
}
[ -z "$(circles "$top")" ] || fail "units that include each other: $(circles "$top" | paste -sd ' ')"
[ -z "$(around_trace "$top")" ] || fail "$(around_trace "$top" | head -n 3)"

mkdir -p libprof/kernel libprof/data libprof/life
echo '#include "libprof/data/state.h"' >libprof/kernel/text.cc
printf '#include "%s"\n' libprof/printable.h libprof/format/format.h libprof/kernel/text.h heavy.h >libprof/data/state.h
[ "$(wrong "$PWD" libprof)" = "libprof/kernel/text.cc includes libprof/data/state.h" ] ||
  fail "an include of the runtime that goes the wrong way is not seen"
[ "$(circles "$PWD" | paste -sd ' ')" = "libprof/kernel/text libprof/data/state" ] || fail "a circle over two rooms is not seen"
echo '#include "state.h"' >libprof/data/heavy.cc
rm libprof/kernel/text.cc
[ "$(circles "$PWD" | paste -sd ' ')" = "libprof/data/heavy libprof/data/state" ] || fail "a circle in a room is not seen"
printf '#include "libprof/trace/%s.h"\n' trace trace_file >libprof/life/process.cc
[ "$(around_trace "$PWD")" = 'libprof/life/process.cc:#include "libprof/trace/trace_file.h"' ] || fail "another header of trace/ is not seen"

# What is known of the bytes of instructions stands in x86/: elsewhere there is neither a byte in hexadecimal, nor a name of
# the decoder's. The other bytes with names of their own, of unwind tables and of files, are in the rooms left out here.
bytes_in() {
  grep -rnE '\b0x[0-9a-fA-F]{2}\b|ZYDIS|Zydis' "$@" | grep -vE '^[^:]*:[0-9]*: *//'
}
others=()
for folder in program jumps discover decide blocks move write; do others+=("$top/linker-rewrite/$folder"); done
[ -z "$(bytes_in "${others[@]}")" ] || fail "bytes of instructions outside x86/: $(bytes_in "${others[@]}" | head -n 3)"
echo 'if (bytes[0] == 0xe9) return;' >linker-rewrite/write/layout.cc
[ -n "$(bytes_in linker-rewrite/write)" ] || fail "a byte of an instruction outside x86/ is not seen"
