# What profld cannot rewrite it refuses: one line, exit status 1, no output file; 3 if nothing is wrong with the file.
. "${0%/*}/../common.inc"

# refused FILE [WORDS]: profld says no, in one line that names the file, and leaves nothing behind. A line with WORDS is in the
# manual, whole.
refused() {
  local file=$1 words=${2:-} line
  rm -rf out
  mkdir out
  run timeout $forever profld -o out/copy "$file"
  [ "$status" = "${expected_status:-1}" ] || fail "profld $file: exit status $status: $(head -n 2 stderr)"
  [ "$(wc -l <stderr)" = 1 ] && [ ! -s stdout ] || fail "profld $file: not one line: $(head -n 3 stdout stderr)"
  line=$(cat stderr)
  case $line in
    "profld: $file: "*"$words"*) ;;
    *) fail "profld $file: says $line, not profld: $file: ... $words" ;;
  esac
  [ -z "$words" ] || documented "${line#"profld: $file: "}" || fail "profld(1) does not say: $line"
  [ -z "$(ls -A out)" ] || fail "profld $file: left $(ls -A out)"
}

cat >small.c <<'C'
static int twice(int n) { return 2 * n; }
int main(int argc, char** argv) { return (argc ? twice : (int (*)(int))argv)(argc) - 2; }
C
compile small small.c -O2
run profld -o small.prof small
[ "$status" = 0 ] && [ -x small.prof ] || fail "the small program itself is refused: $(cat stderr)"

# Not programs of ours at all.
refused nothing
: >empty
refused empty
echo 'int main() {}' >text
refused text
printf '\177ELF' >magic
refused magic
mkdir folder
refused folder
mkfifo fifo
refused fifo
compile object.o small.c -c
refused object.o
{ printf '!<arch>\n'; } >archive.a
refused archive.a

# byte FILE OFFSET VALUE...: changes bytes.
byte() {
  local file=$1 offset=$2 values
  shift 2
  values=$(printf '\\x%s' "$@")
  printf '%b' "$values" | dd of="$file" bs=1 seek="$offset" conv=notrunc status=none
}
cp small class && byte class 4 01
refused class
cp small order && byte order 5 02
refused order
cp small machine && byte machine 18 b7 00 # AArch64
refused machine
cp small i386 && byte i386 18 03 00
refused i386
cp small phoff && byte phoff 32 ff ff ff ff ff ff ff 7f
refused phoff
cp small phnum && byte phnum 56 ff fe
refused phnum

# Truncated: every offset in the headers, then in steps of a prime, as far as the segments go; but for the last page of them, which
# the kernel fills up. (Without what stands after them a program runs: headers.sh.)
size=$(($(readelf -lW small | awk '$1 == "LOAD" { end = strtonum($2) + strtonum($5); if (end > last) last = end } END { print last }' last=0) / 4096 * 4096))
cut_at() {
  head -c "$1" small >cut
  refused cut
}
for ((i = 0; i < 128; i += 3)); do cut_at $i; done
for ((i = 128; i < size; i += 131)); do cut_at $i; done
for ((i = size - 16; i < size; ++i)); do cut_at $i; done

# Unwritable output.
for out in /proc/profld-output nowhere/copy folder; do
  run profld -o "$out" small
  [ "$status" = 1 ] && [ "$(wc -l <stderr)" = 1 ] && grep -q '^profld: .*: ' stderr || fail "profld -o $out: $status $(cat stderr)"
done
[ -z "$(ls -A folder)" ] || fail "left something in folder: $(ls -A folder)"
run bash -c 'ulimit -f 4; exec profld -o limited small'
[ "$status" = 1 ] && [ ! -e limited ] && [ "$(wc -l <stderr)" = 1 ] || fail "file size limit: $status $(cat stderr), $(ls -l limited 2>&1)"
# The program itself is no place for its copy.
cp small self
run profld -o self self
[ "$status" = 1 ] && cmp -s self small || fail "profld -o self self: $status $(cat stderr)"

# Start-up code has an unwind table, and is no function.
compile unnamed small.c -O2 -fno-asynchronous-unwind-tables -s
expected_status=3 refused unnamed "no functions found: neither unwind tables nor symbols name any"

# A program that has its heap begin right after its data, and one that calls the same functions for other ends.
cat >dumped.c <<'C'
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>
extern char end[];
int main(int argc, char** argv) {
  int p = personality(0xffffffff);
  if (!(p & ADDR_NO_RANDOMIZE)) {
    personality(p | ADDR_NO_RANDOMIZE);
    execv("/proc/self/exe", argv);
  }
  char* heap = (char*)(((uintptr_t)end + 4095) & ~4095ul);
  sbrk(1 << 16);
  memset(heap, 1, 4096);
  return 0;
}
C
cat >debugger.c <<'C'
#define _GNU_SOURCE
#include <sys/personality.h>
#include <unistd.h>
static volatile char bytes[4096];
int main(int argc, char** argv) {
  if (argc > 1) {
    personality(ADDR_NO_RANDOMIZE);
    execv(argv[1], argv + 1);
  }
  char* from = sbrk(0);
  for (int i = 0; i < 4096; ++i) bytes[i] = 1;
  return sbrk(0) != from;
}
C
for compiler in gcc clang; do
  for link in $links; do
    turn || continue
    # shellcheck disable=SC2046 # lists of words
    CC=$compiler compile debugger debugger.c -O1 $(link_flags "$link")
    rewrite debugger
    profiled debugger
    case $link in no-pie | static) continue ;; esac # there the heap has its place: heap_place.sh
    # shellcheck disable=SC2046 # lists of words
    CC=$compiler compile dumped dumped.c -O1 $(link_flags "$link")
    refused dumped "it takes the memory after its data for its heap, as dumped Lisps do, and copies have new segments there; use perf"
  done
  CC=$compiler compile dumped dumped.c -O1 -s
  refused dumped "it takes the memory after its data for its heap"
  CC=$compiler compile dumped dumped.c -O1 -no-pie -fno-pie -Wl,-Ttext-segment=0x11000
  refused dumped "it takes the memory after its data for its heap"
done

refused small.prof already
cp small setuid && chmod 4755 setuid
refused setuid set-
cp small setgid && chmod 2755 setgid
refused setgid set-

# A library that is damaged after its headers.
compile library.so small.c -shared -fPIC
cp library.so damaged.so
objcopy --dump-section .eh_frame=eh_frame library.so 2>objcopy.log
printf '\377' | dd of=eh_frame bs=1 seek=2 conv=notrunc status=none
objcopy --update-section .eh_frame=eh_frame library.so damaged.so 2>objcopy.log
refused damaged.so

# An interpreter of another kind: klibc's programs have one that calls main() at the entry point.
cat >interpreted.c <<'C'
__asm__(".section .interp,\"a\"; .string \"/lib/klibc.so\"; .text");
int main(void) { return 0; }
void _start(void) { main(); }
C
compile interpreted interpreted.c -nostdlib -static
refused interpreted "its interpreter (PT_INTERP) is no dynamic linker, as it has no dynamic section: nothing would load libprof.so"

expected_status=3 refused "$(gcc -print-file-name=ld-linux-x86-64.so.2)" "the dynamic linker, which runs before libprof.so can; leave it as it is"
echo 'int one(void) { return 1; }' >one.c
compile one.so one.c -shared -fPIC -O2 -nostdlib
expected_status=3 refused one.so "all functions of this library are too small to time, or are chosen by IFUNC resolvers; --all profiles small ones"
echo 'const int numbers[100] = {1};' >numbers.c
compile numbers.so numbers.c -shared -fPIC -nostdlib
expected_status=3 refused numbers.so "holds data only, no code; there is nothing to rewrite"

# What is refused for its headers, or because the runtime is missing, is so before its damaged unwind tables are read.
cp small unwind
objcopy --dump-section .eh_frame=eh_frame small 2>objcopy.log
printf '\377' | dd of=eh_frame bs=1 seek=2 conv=notrunc status=none
objcopy --update-section .eh_frame=eh_frame small unwind 2>objcopy.log
refused unwind
grep -q 'unwind tables' stderr || fail "damaged unwind tables: $(cat stderr)"
run profld --libprof missing.so -o out/copy unwind
[ "$status" = 1 ] && grep -q 'the runtime library missing.so cannot be used (cannot be opened' stderr && [ -z "$(ls -A out)" ] || fail "missing runtime: $(cat stderr)"

# Go, OCaml and GHC programs, by what tells them: Go's table of functions, OCaml's frame table, GHC's run-time system.
echo data >data
objcopy --add-section .gopclntab=data --set-section-flags .gopclntab=alloc,readonly --add-section .go.buildinfo=data small go 2>objcopy.log
refused go Go
printf 'int caml_frametable[4] = {1};\nint caml_startup_code_begin;\n' >ocaml.c
compile ocaml small.c ocaml.c
refused ocaml OCaml
printf 'void stg_upd_frame(void) {}\nvoid hs_main(void) {}\nvoid stg_ap_0_fast(void) {}\nint ZCMain_main_closure, base_GHCziTopHandler_runMainIO_closure;\n' >ghc.c
compile ghc small.c ghc.c
refused ghc GHC

# Stripped, their strings tell, which old and other linkers lay into the segment of the code.
for name in OCAMLRUNPARAM GHCRTS; do
  printf 'char* getenv(const char*);\nint main() { return getenv("%s") != 0; }\n' $name >$name.c
  for layout in separate-code noseparate-code; do
    compile $name $name.c -s -Wl,-z,$layout
    refused $name "program: its"
  done
done
