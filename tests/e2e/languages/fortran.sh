# Fortran, by gfortran: modules, dynamic dispatch, internal procedures with their trampolines on the stack.
. "${0%/*}/../common.inc"

printf '1.5\nabc\n 2e3\n' >numbers
for options in -O0 "-O2 -fno-inline -fno-ipa-cp"; do
  for link in $links; do
    turn || continue
    # shellcheck disable=SC2086,SC2046 # lists of words
    made heat gfortran $options $(link_flags "$link") -w -o heat "$programs/heat.f90" 2>compile.log || fail "cannot compile: $(head -n 3 compile.log)"
    rewrite heat
    INPUT=numbers profiled heat
    [ "$status" = 5 ] || fail "exit status $status"
    expect_calls heat <heat.stdout
    strip heat
    rewrite heat
    INPUT=numbers profiled heat
  done
done
