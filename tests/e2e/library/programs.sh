# Programs that count their own calls, as shared libraries: with both compilers, with and without optimization, linked in many
# ways, stripped, without a list of sections, and loaded by a program that is rewritten and by one that is not.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

cat >host.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
// A C++ compiler makes other names of main.
static const char* const names[] = {"library_main", "_Z12library_mainiPPc", "_Z12library_mainv"};
int main(int argc, char** argv) {
  void* library = dlopen("libwork.so", RTLD_LAZY);
  if (!library) return 1;
  int (*function)(int, char**) = 0;
  for (int i = 0; i < 3 && !function; ++i) function = (int (*)(int, char**))dlsym(library, names[i]);
  function(argc, argv); // may return nothing, as main may
  return 7;
}
C
compile host host.c -O1
rewrite host

# make_library SOURCE COMPILER [FLAGS]: plain/libwork.so.
make_library() {
  local source=$1 compiler=$2
  shift 2
  CC=$compiler compile plain/libwork.so "$programs/$source" -Dmain=library_main -fno-optimize-sibling-calls -shared -fPIC "$@"
}

# counts WHAT HOST: the calls that the library has counted itself.
counts() {
  with_copies "./$2"
  [ "$status" = 7 ] || fail "$1, $2: status $status"
  # Names are those of the functions in the source; main has another one here.
  grep -v '^calls main' stdout >wanted
  same_calls "$1, $2" <wanted
}

for source in exceptions.cc switch.c computed_goto.c setjmp.c recursion.c threads.c tls.c cold.c varargs.c values.c \
  nonlocal_goto.c contexts.c products.c shapes.c tail_calls.c; do
  host=host
  for how in "gcc -O0" "gcc -O2" "clang -O0" "clang -O2"; do
    turn || continue
    # shellcheck disable=SC2086 # a list of words
    make_library $source $how
    library libwork.so
    counts "$source $how" $host
    [ $host = host ] && host=host.prof || host=host
  done
done

# Ways to link. ("-nostartfiles": nothing has to be done when it is loaded.)
for flags in -Wl,--hash-style=sysv -Wl,--hash-style=gnu -Wl,--hash-style=both -Wl,-z,now -Wl,-z,norelro -Wl,-z,pack-relative-relocs \
  -Wl,-Bsymbolic -nostartfiles -Wl,-z,separate-code -Wl,-z,noseparate-code -fuse-ld=gold -fuse-ld=lld -Wl,-Ttext-segment=0x10000000 \
  "-fcf-protection=full -Wl,-z,ibt,-z,shstk" -Wl,-soname,libother.so -Wl,-z,nodelete "-Wl,--gc-sections -ffunction-sections" -fno-plt; do
  turn || continue
  # shellcheck disable=SC2086 # a list of words
  make_library exceptions.cc gcc -O2 $flags
  library libwork.so
  for host in host host.prof; do counts "exceptions.cc $flags" $host; done
done

# Without symbols, and without sections: functions are found by other means, and are the same.
by_address() { recorded_calls && jq -r '.functions[] | "\(.address) \(.calls)"' profile.json | sort; }
make_library exceptions.cc gcc -O2
library libwork.so
with_copies ./host
by_address >expected
[ "$(wc -l <expected)" -gt 12 ] || fail "few functions: $(cat expected)"
strip plain/libwork.so
library libwork.so
with_copies ./host
by_address | diff expected - >addresses.diff || fail "stripped: $(head -n 4 addresses.diff)"
# e_shoff, and e_shnum with e_shstrndx
printf '\0\0\0\0\0\0\0\0' | dd of=plain/libwork.so bs=1 seek=40 conv=notrunc status=none
printf '\0\0\0\0' | dd of=plain/libwork.so bs=1 seek=60 conv=notrunc status=none
library libwork.so
with_copies ./host
# A stub of the procedure linkage table may be taken for a function, and be counted as well.
by_address | comm -23 expected - >missing
[ ! -s missing ] || fail "without sections: $(head -n 4 missing)"
