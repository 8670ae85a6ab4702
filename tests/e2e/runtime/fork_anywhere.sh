# A handler that interrupts the runtime at any of its instructions forks: the child goes on there, and counts its calls; the
# parent's calls are counted as if nothing had been.
. "${0%/*}/../../libprof/common.inc"

hooked fork_at
# All of them are many thousands: each tenth in `make check'.
objdump -d --no-show-raw-insn "$BUILD/lib/libprof.so" | sed -n 's/^ *\([0-9a-f]*\):.*/\1/p' | awk -v each="$(few_or_all 10 1)" 'NR % each == 0' >instructions
[ "$(wc -l <instructions)" -gt 1000 ] || fail "libprof.so has no instructions"

# forks_at ARG...: with the PROFTYPE that is set.
forks_at() {
  rm -rf profiles
  mkdir profiles
  PROFDIR=profiles ./fork_at "$@" <instructions >stdout 2>stderr || fail "$PROFTYPE $*: status $?, $(grep -c '^bad' stdout) times: $(where | paste -sd ';')"
  [ ! -s stderr ] || fail "$PROFTYPE $*: says $(head -n 2 stderr)"
  [ "$(sed -n 's/^forks //p' stdout)" -gt "$(few_or_all 50 500)" ] || fail "$PROFTYPE $*: too few forks"
  dump_profiles
  same_calls "$PROFTYPE $*"
  if grep -Eq '^(implausible times|missing cycles|too many cycles) [^0]' profile; then fail "$PROFTYPE $*: $(grep cycles profile)"; fi
}

# What the program says was bad, with the line of the source.
where() {
  grep '^bad' stdout | head -n 4 | while read -r _ address what; do
    echo "$(addr2line -e "$BUILD/lib/libprof.so" "0x$address" | sed 's/.*\///') $what"
  done
  tail -n 1 stderr
}

# The instruction by which the hook of that name gives the frame its slot.
gives_slot() {
  objdump -d --no-show-raw-insn --disassemble="$1" "$BUILD/lib/libprof.so" | sed -n 's/^ *\([0-9a-f]*\):\tmov *%rsp,(%rcx,%rdx,1).*/\1/p' | head -n 1
}

for PROFTYPE in time elapsed adaptive count sample; do # cpu has the hooks of time
  export PROFTYPE
  forks_at
done
for PROFTYPE in time adaptive count; do
  forks_at stacks
done
PROFTYPE=count forks_at nested "$(gives_slot enter_count)"
PROFTYPE=elapsed forks_at nested "$(gives_slot enter_elapsed)"
# Without reports of switches.
export GLIBC_TUNABLES=glibc.pthread.rseq=0
case $types in *cpu*) PROFTYPE=time forks_at ;; esac
