# Hooks leave the functions whose calls are short: a program does what it did, its calls are counted exactly, and how long those of other
# functions last is known of all of them.
. "${0%/*}/../common.inc"

# What profld --latency makes prints the same, exits alike and counts right, however many hooks leave: in each way that a function ends, with
# threads, and with a handler after each instruction, also of those that store the jumps.
compile short_calls "$programs/short_calls.c" -O2
rewrite short_calls --latency
for budget in 0 2 100; do
  export PROFBUDGET=$budget
  for what in ways "threads 8" stepped; do
    [ "$what" = stepped ] && calls_vary=yes || calls_vary=
    # shellcheck disable=SC2086 # a word or two
    profiled short_calls $what
    expect_calls short_calls <short_calls.stdout
    prof --json -w short_calls.prof short_calls.profiles/prof.* >json 2>prof.log || fail "prof --json: $(cat prof.log)"
    jq -r '.functions[] | select(.durations.calls > .calls and .calls > 0) | "\(.name): \(.durations.calls) of \(.calls)"' json >wrong
    [ ! -s wrong ] || fail "budget $budget, $what: more calls timed than made: $(head -n 3 wrong)"
    jq -r '[.functions[] | select(.name | startswith("short_")) | .durations.calls // 0] | add' json >timed
    made=$(awk '/^calls short_/ { sum += $3 } END { print sum }' short_calls.stdout)
    case $budget in
      0) [ "$(cat timed)" -lt $((made / 20)) ] ;;
      2) [ "$what" != "threads 8" ] || [ "$(cat timed)" -lt $((made / 3)) ] ;;
      # A handler's calls in the middle of what takes the runtime long are counted only.
      100) [ "$(cat timed)" = "$made" ] || { [ "$what" = stepped ] && [ "$(cat timed)" -gt $((made * 98 / 100)) ]; } ;;
    esac || fail "budget $budget, $what: $(cat timed) of $made calls were timed"
  done
done
unset PROFBUDGET
calls_vary=

# Where a handler jumps away from in the middle of a hook, others leave all the same.
cp short_calls jumped
rewrite jumped --latency -N jump --keep 'short_[0-6]*'
mkdir jumped.profiles
PROFBUDGET=0 PROFDIR=jumped.profiles run ./jumped.prof jumped
[ "$status" = 0 ] || fail "jumped: status $status $(cat stderr)"
prof --json jumped.prof jumped.profiles/prof.* 2>/dev/null | jq -r '.functions[] | select(.name == "short_77") | "\(.calls) \(.durations.calls > 0 and .durations.calls < 2000)"' >found
[ "$(cat found)" = "20010 true" ] || fail "jumped: $(cat found)"

# Exceptions, and other programs that were written for other ways of profiling.
for source in exceptions.cc recursion.c tail_calls.c threads.c; do
  program=${source%.*}
  compile "$program" "$programs/$source" -O1
  rewrite "$program" --latency
  for budget in 0 100; do
    PROFBUDGET=$budget profiled "$program"
    expect_calls "$program" <"$program.stdout"
  done
done

# What lasts keeps its hooks: each call is timed, and percentiles are those that a server measures of itself.
compile server "$programs/latency.c" -O1
rewrite server --latency
mkdir server.profiles
PROFDIR=server.profiles ./server.prof 4000 >printed || fail "the server: status $?"
prof --json server.prof server.profiles/prof.* >json 2>prof.log || fail "prof --json: $(cat prof.log)"
for function in handle audit; do
  jq -r --arg n "$function" '.tsc_hz as $hz | .functions[] | select(.name == $n) | .durations |
    "\(.calls) \([.p50_cycles, .p90_cycles, .p99_cycles, .p999_cycles] | map(. / $hz * 1e9) | join(" "))"' json >found
  grep "^$function " printed | cut -d ' ' -f 2 | sort -n >within
  grep "^$function " printed | cut -d ' ' -f 3 | sort -n >around
  awk -v what="$function" '
    function at(numbers, part) { i = int(part * n); if (i < part * n || i == 0) ++i; return numbers[i] }
    BEGIN { split("0.5 0.9 0.99 0.999", parts) }
    FILENAME == "within" { low[++n] = $1; next }
    FILENAME == "around" { high[++m] = $1; next }
    {
      seen = 1
      if ($1 != n) print what ": " $1 " of " n " calls were timed"
      for (p = 1; p <= 4; ++p)
        if ($(p + 1) < at(low, parts[p]) * 15 / 16 - 2000 || $(p + 1) > at(high, parts[p]) * 17 / 16 + 2000)
          print what ": " parts[p] " is " $(p + 1) " ns, not " at(low, parts[p]) " to " at(high, parts[p])
    }
    END { if (!seen) print what ": no durations" }' within around found >wrong
  [ ! -s wrong ] || fail "$(cat wrong)"
done

# --keep keeps hooks, of imports as well.
cat >kept.c <<'SOURCE'
#include <stdlib.h>
__attribute__((noipa)) long kept(long x) { return x + 1; }
__attribute__((noipa)) long other(long x) { return x + 2; }
int main(void) {
  long s = 0;
  for (int i = 0; i < 20000; ++i) s += kept(i) + other(i) + strtol("17", NULL, 10) + labs(i - s);
  return s == 0;
}
SOURCE
compile kept kept.c -O1 -fno-builtin
run prof run --latency --keep kept --keep strtol ./kept
[ "$status" = 0 ] || fail "prof run --latency --keep: status $status, $(cat stderr)"
prof --json 2>/dev/null | jq -r '.functions[] | select(.durations and (.name | test("^(kept|other|strtol|labs)$"))) | "\(.name) \(if .durations.calls == 20000 then "all" else "some" end)"' | sort >found
[ "$(paste -sd ' ' found)" = "kept all labs some other some strtol all" ] || fail "--keep: $(paste -sd ' ' found)"
awk '$NF == "Name" { print $1, $2, $3 }' stderr | grep -qx "Calls Timed Min" || fail "prof run --latency: $(cat stderr)"
run prof run --latency --keep ketp ./kept
grep -q -- '--keep ketp: matches no function; did you mean kept?' stderr || fail "--keep ketp: $(cat stderr)"

# A call that ends by a jump or an exception is not timed: nothing tells when, once the hooks around it have left.
cat >thrown.cc <<'SOURCE'
#include <setjmp.h>
#define KEPT extern "C" __attribute__((noipa))
static jmp_buf place;
KEPT long leaf(long x) { return x + 1; }
KEPT void throws() { throw 1; }
KEPT void jumps() { longjmp(place, 1); }
KEPT void catches() {
  try {
    throws();
  } catch (int) {
  }
}
int main() {
  volatile long s = 0;
  for (volatile int i = 0; i < 2000; i = i + 1) {
    catches();
    if (!setjmp(place)) jumps();
    for (int j = 0; j < 2000; ++j) s = s + leaf(j);
  }
}
SOURCE
compile thrown thrown.cc -O1
rewrite thrown --latency
profiled thrown
prof --json thrown.prof thrown.profiles/prof.* 2>/dev/null |
  jq -r '.functions[] | select(.name | test("^(throws|jumps|__cxa_throw)$")) | "\(.name) \(.calls) \(.durations.calls // "none")"' | sort >found
[ "$(grep -v cxa found | paste -sd ' ')" = "jumps 2000 none throws 2000 none" ] && ! grep -q '__cxa_throw.* [0-9]*$' found || fail "calls that did not return: $(paste -sd ' ' found)"

# Code that runs into a function, without a hook between them: its hooks leave with that one's.
cat >runs_on.S <<'SOURCE'
  .text
  .globl falls, into
  .type falls, @function
falls:
  endbr64
  add $1, %rdi
  .size falls, .-falls
  .type into, @function
into:
  endbr64
  lea 2(%rdi), %rax
  ret
  .size into, .-into
  .section .note.GNU-stack, "", @progbits
SOURCE
cat >runs_on.c <<'SOURCE'
long falls(long), into(long);
int main(void) {
  long s = 0;
  for (long i = 0; i < 20000; ++i) s += into(i);
  for (long i = 0; i < 20000; ++i) s += falls(i);
  return s == 0;
}
SOURCE
compile runs_on runs_on.c runs_on.S -O1
rewrite runs_on --latency
profiled runs_on
prof --json runs_on.prof runs_on.profiles/prof.* 2>/dev/null | jq -r '[.functions[] | select(.name | test("^(falls|into)$")) | .durations.calls // 0] | add' >found
[ "$(cat found)" -lt 10000 ] || fail "code that runs into a function: $(cat found) calls were timed"

# The dynamic linker takes the right to write to code away again where it has relocated some, and a program may do so: then hooks ask for it
# once more before they leave.
cat >relocated.c <<'SOURCE'
__attribute__((noipa)) long leaf(long x) { return x + 1; }
__attribute__((noipa)) static long triple(long x) { return x * 3; }
__attribute__((noipa)) static void* resolve(void) { return triple; }
long chosen(long) __attribute__((ifunc("resolve")));
asm(".text\n.type relocated, @function\nrelocated: movabs $leaf, %rax\n ret\n.size relocated, .-relocated");
int main(void) {
  long s = 0;
  for (int i = 0; i < 20000; ++i) s += leaf(i) + chosen(i);
  return s == 0;
}
SOURCE
compile relocated relocated.c -O1 -fPIE -pie -Wl,-z,notext
cat >protects.c <<'SOURCE'
#define _GNU_SOURCE
#include <link.h>
#include <sys/mman.h>
__attribute__((noipa)) int leaf(int x) { return x + 1; }
static int protect(struct dl_phdr_info* info, size_t size, void* data) {
  for (int i = 0; i < info->dlpi_phnum && !info->dlpi_name[0]; ++i) {
    const ElfW(Phdr)* h = &info->dlpi_phdr[i];
    const unsigned long start = (info->dlpi_addr + h->p_vaddr) & -4096ul, end = (info->dlpi_addr + h->p_vaddr + h->p_memsz + 4095) & -4096ul;
    if (h->p_type == PT_LOAD && (h->p_flags & PF_X) && mprotect((void*)start, end - start, PROT_READ | PROT_EXEC)) return 1;
  }
  return 0;
}
int main(void) {
  long s = 0;
  if (dl_iterate_phdr(protect, 0)) return 2;
  for (int i = 0; i < 20000; ++i) s += leaf(i);
  return s == 0;
}
SOURCE
compile protects protects.c -O1
for program in relocated protects; do
  rewrite "$program" --latency
  profiled "$program"
  prof --json "$program.prof" "$program.profiles"/prof.* 2>/dev/null | jq -r '.functions[] | select(.name == "leaf") | "\(.calls) \(.durations.calls < 10000)"' >found
  [ "$(cat found)" = "20000 true" ] || fail "$program: $(cat found)"
done

# Where code cannot be changed, hooks do nothing, and that is said.
cat >unchanged.c <<'SOURCE'
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#endif
int main(int argc, char** argv) {
  if (prctl(PR_SET_MDWE, 1, 0, 0, 0) != 0) return 77;
  execv(argv[1], argv + 1);
  return 1;
}
SOURCE
compile unchanged unchanged.c
mkdir unchanged.profiles
PROFDIR=unchanged.profiles run ./unchanged ./short_calls.prof ways
if [ "$status" != 77 ]; then # a kernel without it
  [ "$status" = 0 ] || fail "without a right to change code: status $status"
  ./short_calls ways | cmp -s - stdout || fail "without a right to change code: $(diff <(./short_calls ways) stdout | head -n 3)"
  grep -q 'code cannot be changed (permission denied), .* prof run --type time --latency changes none$' stderr || fail "without a right to change code: $(cat stderr)"
  prof --json short_calls.prof unchanged.profiles/prof.* 2>/dev/null | jq -r '.functions[] | select(.name == "ends") | "\(.calls) \(.durations.calls // "none")"' >found
  [ "$(cat found)" = "4500 none" ] || fail "without a right to change code: $(cat found)"
fi

# Bad input.
PROFBUDGET=2.5 PROFDIR=unchanged.profiles run ./short_calls.prof ways
grep -qx 'prof: PROFBUDGET=2.5: is not a number of percent from 0 to 100; 2 is used' stderr || fail "PROFBUDGET=2.5: $(cat stderr)"
for words in "--latency --no-hooks" "--latency --trace" "--keep x"; do
  # shellcheck disable=SC2086 # a list of words
  run profld $words -o out short_calls
  [ "$status" = 2 ] || fail "profld $words: status $status, $(cat stderr)"
done
compile static kept.c -O1 -static
run profld --latency -o out static
[ "$status" = 1 ] && grep -q ': a static program or a library, and --latency is for programs with a dynamic linker; profile it without$' stderr ||
  fail "profld --latency of a static program: status $status, $(cat stderr)"
run prof run --latency ./static
[ "$status" = 0 ] && awk '$NF == "Name" { print $1, $2 }' stderr | grep -qx "Calls Min" || fail "prof run --latency of a static program: $status $(cat stderr)"
