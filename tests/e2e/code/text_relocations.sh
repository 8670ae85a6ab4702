# Relocations in code (DT_TEXTREL): they are led to the copies, or the function stays.
. "${0%/*}/../common.inc"

may_skip="choose labels tail indirect" # a jump table by such an address is not known

# moves PROGRAM FUNCTION...: these do not stay.
moves() {
  local report=$1.report function
  shift
  for function; do
    jq -e --arg f "$function" 'all(.skipped[]; .name != $f)' "$report" >/dev/null || fail "$what: $function: $(jq -c .skipped "$report")"
  done
}

for linker in bfd gold lld; do
  for options in "-O0 -mcmodel=large" "-O2 -mcmodel=large" "-O2 -mcmodel=medium"; do
    for CC in gcc clang; do
      # gcc's medium model still has 32 bits for what is small.
      [ "$CC $options" != "gcc -O2 -mcmodel=medium" ] || continue
      turn || continue
      what="$CC $options $linker"
      # shellcheck disable=SC2086 # lists of words
      {
        compile program.o "$programs/text_relocations.c" -c -fno-pic $options
        compile library.o "$programs/text_relocations.c" -c -fno-pic $options -DLIBRARY
      }
      compile program program.o -fuse-ld=$linker -pie -Wl,-z,notext
      for choice in "" -b --discover; do
        # shellcheck disable=SC2086
        rewrite program $choice
        moves program twice get pick compare name
        profiled program
        expect_calls program <program.stdout
      done

      # The library's variable is another one, in the program.
      compile libof.so library.o -fuse-ld=$linker -shared -Wl,-z,notext
      echo 'int run(void); int value = 1000; int main(void) { return run(); }' >caller.c
      compile caller caller.c -fPIE -pie -L. -lof -Wl,-rpath,"$PWD"
      cp libof.so original.so
      LD_LIBRARY_PATH= ./caller >caller.stdout || fail "$what: the program with the library"
      rewrite libof.so
      moves libof.so twice get pick compare name
      mv libof.so.prof libof.so
      mkdir -p caller.profiles
      rm -f caller.profiles/*
      PROFDIR=caller.profiles ./caller >caller.prof.stdout || fail "$what: the copy of the library: status $?"
      cmp -s caller.stdout caller.prof.stdout || fail "$what: the copy of the library: $(diff caller.stdout caller.prof.stdout | head -n 4)"
    done
  done
done

# Packed relocations (RELR) cannot be led elsewhere.
CC=gcc compile program "$programs/text_relocations.c" -O2 -fno-pic -mcmodel=large -pie -Wl,-z,notext,-z,pack-relative-relocs
rewrite program
jq -e 'any(.skipped[]; .reason | startswith("the dynamic linker changes the instruction at 0x"))' program.report >/dev/null ||
  fail "packed: $(jq -c .skipped program.report)"
profiled program

# What code reads by such an address stays.
for link in "-pie -Wl,-z,notext" -no-pie; do
  what="read $link"
  # shellcheck disable=SC2086 # lists of words
  CC=gcc compile program "$programs/far_reads.c" -O1 -fno-pic -mcmodel=large $link
  rewrite program
  for function in loaded passed; do
    jq -e --arg f "$function" 'any(.skipped[]; .name == $f and (.reason | startswith("its bytes are read as data ")))' program.report >/dev/null ||
      fail "$what: $function does not stay: $(jq -c .skipped program.report)"
  done
  profiled program
  expect_calls program <program.stdout
done
