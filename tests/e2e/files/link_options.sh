# Flags that change what the file looks like.
. "${0%/*}/../common.inc"

n=0
may_skip="compared distances" # see computed_goto.sh
check() {
  turn || return 0
  local source=$1 program
  shift
  program=$((++n))
  compile "$program" "$programs/$source" -O2 "$@"
  rewrite "$program"
  profiled "$program"
  expect_calls "$program" <"$program.stdout"
}
for source in pointers.c computed_goto.c exceptions.cc; do
  check $source -Wl,-z,now
  check $source -Wl,-z,lazy
  check $source -Wl,-z,norelro
  check $source -Wl,-z,noseparate-code
  check $source -Wl,-z,separate-code
  check $source -Wl,-z,pack-relative-relocs
  check $source -Wl,--hash-style=sysv
  check $source -Wl,--hash-style=gnu
  check $source -Wl,--hash-style=both
  check $source -Wl,--build-id=none
  check $source -Wl,--emit-relocs
  check $source -rdynamic
  check $source -no-pie -fno-pie -rdynamic
  check $source -no-pie -fno-pie -Wl,-z,noseparate-code
  check $source -static -Wl,-z,noseparate-code
  check $source -fuse-ld=gold
  check $source -fuse-ld=gold -no-pie -fno-pie
  check $source -Wl,-z,execstack
  check $source -Wl,-z,max-page-size=0x200000
  check $source -Wl,-rpath,/nowhere -Wl,--enable-new-dtags
  check $source -g -gz
done
check pointers.c -no-pie -fno-pie -Wl,-Ttext-segment=0x10000000
check pointers.c -static -Wl,-Ttext-segment=0x10000000
