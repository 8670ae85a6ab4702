# What functions make of their return addresses: whether they lie between others (gcc -pg counts so), and the names of their
# callers, as dladdr and backtrace_symbols tell them. Whoever looks for a name finds the original.
. "${0%/*}/../common.inc"

names() { # NAME [PROFLD OPTION...]: the copy of that program prints what the program prints
  local program=$1
  shift
  rewrite "$program" "$@"
  profiled "$program"
}

# Both kinds of hash tables, several linkers; without symbols of other kinds; blocks counted.
for flags in "-O1" "-O2 -Wl,--hash-style=sysv" "-O2 -Wl,--hash-style=both -no-pie -fno-pie" "-O2 -fuse-ld=lld -Wl,--hash-style=gnu"; do
  for compiler in gcc clang; do
    # shellcheck disable=SC2086 # lists of words
    CC=$compiler compile names "$programs/callers.c" -fno-optimize-sibling-calls -rdynamic $flags
    names names
    grep -qE '^started: \[(start_engine|ignite)\] (start_engine|ignite) work_in_library main$' names.prof.stdout || fail "$compiler $flags: $(head -n 2 names.prof.stdout)"
    expect_calls names <names.stdout
    strip -o stripped names
    names stripped -b
    names stripped --no-hooks -b
  done
done
CC=musl-gcc compile names "$programs/callers.c" -O1 -fno-optimize-sibling-calls -rdynamic
names names

# A library whose symbols have versions. Programs may be linked with its copy as well: they get the same functions.
cat >versions <<'END'
OLD { global: log_it; start_engine; };
NEW { global: ignite; work_in_library; print_calls_of_library; local: *; } OLD;
END
mkdir -p original copy
compile original/libcallers.so "$programs/callers.c" -DPART=1 -O2 -fPIC -shared -fno-optimize-sibling-calls -Wl,--version-script=versions
profld -o copy/libcallers.so original/libcallers.so || fail "a library: it is not rewritten"
LD_LIBRARY_PATH=original
export LD_LIBRARY_PATH
for linker in bfd gold lld; do
  for place in original copy; do
    compile "with-$linker-$place" "$programs/callers.c" -DPART=2 -O2 -fno-optimize-sibling-calls "-fuse-ld=$linker" "$place/libcallers.so"
    ./"with-$linker-$place" >expected || fail "a program linked by $linker with the $place: exit status $?"
    LD_LIBRARY_PATH=copy PROFDIR=. ./"with-$linker-$place" >got || fail "a program linked by $linker with the $place, and the copy: exit status $?"
    cmp -s expected got || fail "a program linked by $linker with the $place: $(diff expected got | head -n 6)"
  done
  readelf -Ws --dyn-syms "with-$linker-original" | grep -o ' [a-z_]*@[A-Z]*' | sort >expected
  readelf -Ws --dyn-syms "with-$linker-copy" | grep -o ' [a-z_]*@[A-Z]*' | sort >got
  cmp -s expected got || fail "what $linker links with the copy has other symbols: $(diff expected got | head -n 6)"
done
unset LD_LIBRARY_PATH

# Who calls a function that compares its return address stays.
may_skip="main hands_on goes_by_record asks_for_place is_trusted is_not_trusted is_trusted_by_pointer"
matrix compared_callers.c -fno-optimize-sibling-calls
optimizations=-O2
matrix compared_callers.c
CC=gcc compile compared "$programs/compared_callers.c" -O2
rewrite compared -b --no-hooks
profiled compared
rewrite compared
jq -e '[.skipped[] | select(.reason | startswith("it calls, or may call, a function that compares its return address", "its start is compared"))] | map(.name) | sort ==
  ["asks_for_place", "goes_by_record", "is_not_trusted", "is_trusted", "is_trusted_by_pointer", "main"]' compared.report >/dev/null || fail "$(jq -c .skipped compared.report)"

# What gcc -pg counts, by return addresses between the bounds of the text, is the same.
counted() { gprof -b -q "$1" gmon.out | awk '/^\[/ || NF >= 4 { print $(NF - 2), $(NF - 1) }' | grep -E '^[0-9/]+ (leaf|branch|main)' | sort; }
for link in $links; do
  turn || continue
  # shellcheck disable=SC2046 # lists of words
  CC=gcc compile monitored "$programs/monitored.c" -O1 -pg -fno-optimize-sibling-calls $(link_flags "$link")
  rm -f gmon.out
  ./monitored >stdout && counted monitored >expected
  [ -s expected ] || fail "gprof shows no calls: $(gprof -b -q monitored gmon.out | head -n 6)"
  for options in "" "-b --no-hooks" "-N __gmon_start__"; do
    # shellcheck disable=SC2086 # a list of words
    rewrite monitored $options
    rm -f gmon.out
    profiled monitored
    rm -f gmon.out
    PROFDIR=monitored.profiles ./monitored.prof >stdout
    counted monitored.prof >got
    cmp -s expected got || fail "$link $options: gprof shows other calls: $(diff expected got | head -n 6)"
  done
done
