# Libraries full of assembly by hand, linked in and rewritten: OpenSSL's libcrypto (with tables between instructions), x264, zlib and zstd.
# What they compute is the same to the last bit, in the variants for older processors too.
. "${0%/*}/../common.inc"

# check NAME LIBRARIES [VARIABLE=VALUE...]: once without and once with each of the settings.
check() {
  local name=$1 libraries=$2 link
  shift 2
  for link in pie static; do
    # shellcheck disable=SC2046,SC2086 # lists of words
    compile "$name" "$programs/$name.c" -O2 $(link_flags $link) $libraries -ldl
    rewrite "$name"
    mostly_instrumented "$name"
    for setting in NOTHING= "$@"; do
      export "${setting?}"
      profiled "$name"
      [ "$(wc -l <"$name.stdout")" -gt 20 ] || fail "$name $setting: it computes nothing"
      [ "$(total_calls "$name")" -gt 10000 ] || fail "$name $setting: only $(total_calls "$name") calls"
      unset "${setting%%=*}"
    done
  done
}
# Without AES instructions; without AVX; without AVX2; with nothing but SSE2.
check crypto -l:libcrypto.a 'OPENSSL_ia32cap=~0x200000200000000' 'OPENSSL_ia32cap=~0x1000000000000000' 'OPENSSL_ia32cap=:~0x28' 'OPENSSL_ia32cap=0x0:0x0'
check video -l:libx264.a
check compress '-l:libz.a -l:libzstd.a'
grep -q WRONG compress.stdout && fail "compress: what was unpacked is not what was packed"
exit 0
