# A collector that finds frames by return address finds those of copies: the frame tables name them. Where no symbol tells
# where the tables are, and where they are damaged, the program is refused.
. "${0%/*}/../common.inc"

calls_vary=yes # a copy registers more code
for link in $links; do
  # Dynamic programs export all, as OCaml's do, so that these names are there when they are stripped.
  # shellcheck disable=SC2046 # lists of words
  compile "$link" "$programs/frame_tables.c" -O2 $([[ $link = static* ]] || echo -Wl,-E) $(link_flags "$link")
  rewrite "$link"
  profiled "$link"
  expect_calls "$link" <"$link.stdout"
  jq -e 'all(.skipped[]; .name | startswith("caml") | not)' "$link.report" >/dev/null || fail "$link: $(jq -c .skipped "$link.report")"
  cp "$link" stripped
  strip stripped
  case $link in
    static*)
      run profld -o stripped.prof stripped
      [ "$status" = 1 ] && grep -q 'its frame tables, by which its collector finds frames, are not understood' stderr ||
        fail "a stripped static program: $(cat stderr)"
      ;;
    *)
      rewrite stripped
      profiled stripped
      expect_calls_by_address stripped "$link"
      ;;
  esac
  # Blocks, and with some functions left where they are: main tells the run-time system where OCaml's code is.
  rewrite "$link" -N 'camlDemo__descend' -N 'caml_start_program' -N main -b
  profiled "$link"
  grep -vE ' (camlDemo__descend|caml_start_program|main) ' "$link.stdout" | expect_calls "$link"
done

# Damage: a return address that is none, and a table that is longer than the file.
offset() { echo $((0x$(nm no-pie | awk -v n="$1" '$3 == n { print $1 }') - $(readelf -lW no-pie | awk '$1 == "LOAD" && $7 == "RW" { print strtonum($3) - strtonum($2) }'))); }
damaged() {
  cp no-pie damaged
  printf "$3" | dd of=damaged bs=1 seek=$(($(offset "$1") + $2)) conv=notrunc status=none
  run profld -o damaged.prof damaged
  [ "$status" = 1 ] && [ ! -e damaged.prof ] && grep -q "are not understood; use perf" stderr || fail "damaged $1: $(cat stderr)"
}
damaged camlDemo__frametable 0 '\377\377\377\377'
damaged camlDemo__frametable 8 '\1\0\0\0'
damaged camlDemo__frametable 16 '\44\0'
damaged caml_frametable 0 '\1\0\0\0'

# Tables of the same bytes, each of which is right: the last word of a descriptor is the number of those after it. All of them
# together would take gigabytes.
gcc -nostdlib -static -o overlapping -x assembler - <<'END' || fail "overlapping tables do not assemble"
    .globl _start, caml_frametable
_start:
    .cfi_startproc
    .cfi_undefined rip
    call 1f
1:  hlt
    .cfi_endproc
    .data
caml_frametable:
    .set n, 0
    .rept 4000
    .quad tables + n * 16 + 8
    .set n, n + 1
    .endr
    .quad 0
    .balign 8
tables:
    .rept 0xffff + 4000
    .quad 1b, 0xffff
    .endr
END
run bash -c '[ -n "${SANITIZERS:-}" ] || ulimit -v 2000000; exec profld -o overlapping.prof overlapping'
[ "$status" = 1 ] && grep -q "are not understood; use perf" stderr || fail "overlapping tables: status $status, $(head -n 1 stderr)"
