# Each room of the rewriter uses only those before it: the list of rooms in docs/architecture is the order.
. "${0%/*}/common.inc"

top=$(cd "$tests/.." && pwd)
# wrong FOLDER: a line for each include of a file there that it must not have.
wrong() {
  grep -rHoE '^#include "[^"]+"' "$1/linker-rewrite" | sed "s#^$1/##" | awk -v rooms="$rooms" '
    BEGIN { n = split(rooms, room, " "); for (i = 1; i <= n; i++) rank[room[i]] = i }
    {
      file = substr($0, 1, index($0, ":") - 1)
      included = substr($0, index($0, "\"") + 1)
      sub(/"$/, "", included)
      split(file, from, "/"); split(included, to, "/")
      if (!(from[2] in rank)) next                       # main.cc, rewrite.cc and the report know all rooms
      if (index(included, "/") == 0) next                # its own room
      if (to[1] == "libprof") next                       # what the programs share
      if (to[1] != "linker-rewrite" || !(to[2] in rank) || rank[to[2]] > rank[from[2]]) print file " includes " included
    }'
}

rooms=$(sed -n 's/^    \([a-z0-9]*\)\/  .*/\1/p' "$top/docs/architecture" | paste -sd ' ')
[ "$rooms" = "base elf x86 unwind program jumps decide move write" ] || fail "docs/architecture lists the rooms $rooms"
for room in $rooms; do [ -d "$top/linker-rewrite/$room" ] || fail "there is no room $room"; done
for folder in "$top"/linker-rewrite/*/; do
  [[ " $rooms " = *" $(basename "$folder") "* ]] || fail "docs/architecture does not list $(basename "$folder")"
done
[ -z "$(wrong "$top")" ] || fail "$(wrong "$top" | head -n 3)"

# The check sees an include that goes the wrong way.
mkdir -p linker-rewrite/elf linker-rewrite/write
echo '#include "linker-rewrite/write/layout.h"' >linker-rewrite/elf/image.cc
echo '#include "linker-rewrite/elf/image.h"' >linker-rewrite/write/layout.cc
[ "$(wrong "$PWD")" = "linker-rewrite/elf/image.cc includes linker-rewrite/write/layout.h" ] || fail "an include that goes the wrong way is not seen"
