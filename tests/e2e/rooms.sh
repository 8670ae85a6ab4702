# Each room of the rewriter and of the reader uses only those before it: docs/architecture lists them in order.
. "${0%/*}/common.inc"

top=$(cd "$tests/.." && pwd)
# wrong FOLDER PROGRAM: a line for each include of a file of the program there that it must not have.
wrong() {
  grep -rHoE '^#include "[^"]+"' "$1/$2" | sed "s#^$1/##" | awk -v program="$2" -v rooms="$rooms" -v shared="$shared" '
    BEGIN { n = split(rooms, room, " "); for (i = 1; i <= n; i++) rank[room[i]] = i }
    {
      file = substr($0, 1, index($0, ":") - 1)
      included = substr($0, index($0, "\"") + 1)
      sub(/"$/, "", included)
      split(file, from, "/"); split(included, to, "/")
      if (!(from[2] in rank)) next                       # main.cc and its like know all rooms
      if (index(included, "/") == 0) next                # its own room
      if (to[1] == "libprof" || index(" " shared " ", " " included " ") || (to[1] == "linker-rewrite" && to[2] == "names")) next # what the programs share
      if (to[1] != program || !(to[2] in rank) || rank[to[2]] > rank[from[2]]) print file " includes " included
    }'
}

# holds PROGRAM HEADING ROOM...: these rooms are listed below the heading, are all there are, and keep their order.
holds() {
  local program=$1 heading=$2 folder
  shift 2
  rooms=$(awk -v heading="$heading" '
    $0 == heading { inside = 1; next }
    inside && /^-+$/ { next }
    /^[A-Z][a-z ]*$/ { inside = 0 }
    inside && /^    [a-z0-9]+\/  / { sub(/\/.*/, "", $1); print $1 }' "$top/docs/architecture" | paste -sd ' ')
  [ "$rooms" = "$*" ] || fail "docs/architecture lists the rooms $rooms of $program"
  for folder in "$@"; do [ -d "$top/$program/$folder" ] || fail "there is no room $folder"; done
  for folder in "$top/$program"/*/; do
    [[ " $rooms " = *" $(basename "$folder") "* ]] || fail "docs/architecture does not list $program/$(basename "$folder")"
  done
  [ -z "$(wrong "$top" "$program")" ] || fail "$(wrong "$top" "$program" | head -n 3)"
}
# What prof uses of the rewriter, beside what it knows of names: one reader of notes is enough, one decoder of instructions, and
# both look for debug files in the same places, and find the same operands in memory.
shared="linker-rewrite/elf/notes.h linker-rewrite/elf/debug_files.h linker-rewrite/x86/decoder.h linker-rewrite/x86/memory_operands.h"
holds linker-rewrite "The rewriter" names base elf x86 unwind program jumps discover decide blocks move write

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

holds prof "The reader" read sample model views trace remote target gprof export commands

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
