# A program that knows a place in a function by its address: in tables, in words, in instructions, by the function's start and
# end. The function stays, and the others are counted.
. "${0%/*}/../common.inc"

# check PROGRAM FUNCTION REASON
check() {
  jq -e --arg f "$2" --arg r "$3" '[.skipped[] | select(.name == $f).reason | startswith($r)] == [true]' "$1.report" >/dev/null ||
    fail "$1: $2 does not stay: $(jq -c .skipped "$1.report")"
  profiled "$1"
  may_skip=handle expect_calls "$1" <"$1.stdout"
}

for compiler in gcc clang; do
  for link in $links; do
    for form in FROM_ITSELF FROM_TABLE WORDS NUMBERS ONE_WORD LABELS KEPT_LABELS FUNCTION LENGTH FUNCTION_IN_DATA; do
      case $form-$link in NUMBERS-pie | NUMBERS-static-pie) continue ;; esac
      turn || continue
      program=$compiler-$link-$form
      # shellcheck disable=SC2046 # lists of words
      CC=$compiler compile "$program" "$programs/program_counters.c" -O2 "-DFORM=$form" $(link_flags "$link")
      for options in "" -b; do
        # shellcheck disable=SC2086 # a list of words
        rewrite "$program" $options
        case $form in
          FROM_* | WORDS | NUMBERS | ONE_WORD | *DATA) reason="data at " ;;
          FUNCTION | LENGTH) reason="its start is compared with other addresses at " ;;
          *) reason="" ;;
        esac
        check "$program" try_read "$reason"
      done
    done
  done
done

# In a library, whose addresses the dynamic linker finds by symbols: in the global offset table, and in data.
cat >library.c <<'C'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
extern char load[], after_load[];
extern void* table[2];
long try_read(const long* p);
__asm__(
    ".text\n.globl try_read, load, after_load\n.type try_read, @function\n"
    "try_read: .cfi_startproc\n  mov $-1, %rax\n  test %rdi, %rdi\n  je after_load\n"
    "load: mov (%rdi), %rax\n"
    "after_load: mov %rax, %rdx\n  ret\n  .cfi_endproc\n  .size try_read, .-try_read\n"
    ".data\n.globl table\ntable: .quad load, after_load\n.text\n");
static void handle(int s, siginfo_t* info, void* context) {
  greg_t* pc = &((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
#ifdef IN_DATA
  *pc = (void*)*pc == table[0] ? (greg_t)table[1] : 0;
#else
  *pc = *pc == (greg_t)load ? (greg_t)after_load : 0;
#endif
}
int go(void) {
  const struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESETHAND};
  sigaction(SIGSEGV, &action, 0);
  const long seven = 7;
  printf("%ld %ld\n", try_read(&seven), try_read((const long*)16));
  return 0;
}
C
echo 'int go(void); int main(void) { return go(); }' >host.c
mkdir -p copy
for flag in -DIN_CODE -DIN_DATA; do
  compile libread.so library.c -O2 -fPIC -shared $flag
  compile host host.c -L. -lread "-Wl,-rpath,\$ORIGIN/copy"
  for options in "" -b; do
    # shellcheck disable=SC2086 # a list of words
    profld -q --all $options --report read.report -o copy/libread.so libread.so 2>profld.log || fail "library: $(cat profld.log)"
    jq -e '[.skipped[] | select(.name == "try_read").reason | startswith("data at ")] == [true]' read.report >/dev/null ||
      fail "library, $flag: try_read does not stay: $(jq -c .skipped read.report)"
    PROFDIR=copy run ./host
    [ "$status $(cat stdout)" = "0 7 -1" ] || fail "library, $flag $options: $status $(cat stdout stderr)"
  done
done

# Numbers that are the addresses of instructions by accident: amid others, all the same, beside functions.
cat >numbers.c <<'C'
#include "calls.h"
#define SLED "  .rept 4096\n  nop\n  .endr\n"
__asm__(
    ".section high, \"ax\"\n.globl sled\n.type sled, @function\n"
    "sled: .cfi_startproc\n" SLED "  ret\n  .cfi_endproc\n.size sled, .-sled\n"
    ".section .rodata\n.balign 16\n.globl many, same\n"
    "many: .rept 40\n  .short 15, 16\n  .endr\n  .long sled + 17 - ., sled + 99 - .\n  .rept 40\n  .short 17, 18\n  .endr\n"
    "1: same: .rept 4\n  .long sled + 33 - 1b\n  .endr\n"
#ifdef FIXED
    ".section .data\n.balign 16\n.globl columns, flag\n"
    "columns: .quad sled, 0x1000012, sled, 0x1000100, sled, 7\n"
    "flag: .quad 0x1000001\n"
    ".balign 16\n.globl flags, sparse, masks\n"
    "flags: .quad 0x1000840, 0x1000480\n"
    "sparse: .quad 7, 0, 0, 0, 0, 0\n  .rept 4\n  .quad 0x10005a7, 0, 0, 0, 0, 0\n  .endr\n  .quad 0x10005a9, 0x10006b7\n"
    ".section masked, \"a\"\n.balign 16\nmasks: .quad 7, -0x2000, -0x2000\n"
    ".section texts, \"ax\"\n.globl read_often\n.type read_often, @function\n"
    "read_often: .cfi_startproc\n  .rept 600\n  mov (%rdi), %rax\n  .endr\n  ret\n  .cfi_endproc\n.size read_often, .-read_often\n"
#endif
    ".text\n");
void sled(void);
extern const short many[164], same[8];
#ifdef FIXED
extern long columns[6], flag, flags[2], sparse[32];
extern const long masks[3];
long read_often(const long*);
KEPT int is_flagged(long n) {
  CALLED("is_flagged");
  return (n & 0x1000840) == 0x1000840;
}
KEPT unsigned name(unsigned* to, unsigned kind) {
  CALLED("name");
  *to = 0x627573;  // "sub"
  return kind + 0x6275d6;
}
#endif
KEPT long add_all(void) {
  CALLED("add_all");
  long sum = 0;
  for (int i = 0; i < 164; ++i) sum += many[i];
  for (int i = 0; i < 8; ++i) sum += same[i];
#ifdef FIXED
  for (int i = 1; i < 6; i += 2) sum += columns[i] == 0x1000012;
  sum += flag;
  if ((unsigned)columns[3] == 0x1000203) ++sum;
  unsigned named;
  sum += flags[sum & 1] + sparse[sum & 31] + masks[1] + is_flagged(flags[0]) + read_often(&sum) + name(&named, 1) + named;
#endif
  return sum;
}
int main(void) {
  CALLED("main");
  sled();
  if (add_all() == 1) return 1;
  print_calls();
  return 0;
}
C
for compiler in gcc clang; do
  for link in $links; do
    turn || continue
    case $link in *pie) fixed="" ;; *) fixed="-DFIXED -Wl,--section-start=texts=0x627000,--section-start=high=0x1000000,--section-start=masked=0x1002000" ;; esac
    # shellcheck disable=SC2046,SC2086 # lists of words
    CC=$compiler compile numbers numbers.c "-I$programs" -O2 $fixed $(link_flags "$link")
    rewrite numbers
    jq -e '[.skipped[] | select(.name == ("sled", "read_often"))] == []' numbers.report >/dev/null || fail "$compiler $link: stays: $(jq -c .skipped numbers.report)"
    profiled numbers
  done
done

# Where units begin and end, as OCaml's programs have it of each module: a unit of several functions stays for that no more than
# its last function alone.
cat >units.c <<'C'
#include <stdio.h>
#define FUNCTION(name) #name ": .cfi_startproc\n  lea 1(%rdi), %rax\n  ret\n  .cfi_endproc\n.size " #name ", .-" #name "\n"
__asm__(
    ".text\n.globl one, two, three\n.type one, @function\n.type two, @function\n.type three, @function\n"
    "  .balign 32\n.byte 0x0f, 0x1f, 0x40, 0\nbegin: .byte 0x0f, 0x1f, 0x40, 0\n" FUNCTION(one) FUNCTION(two) "end: .balign 32\n"
    "alone: " FUNCTION(three) "alone_end: .balign 32\n"
    ".data\n.balign 16\n.globl units\nunits: .quad begin, end, alone, alone_end\n.text\n");
long one(long), two(long), three(long);
extern const char* units[4];
int main(void) {
  printf("%ld %ld\n", one(two(three(1))), (long)(units[1] - units[0]));
  return 0;
}
C
for link in $links; do
  turn || continue
  # shellcheck disable=SC2046 # a list of words
  compile units units.c -O1 $(link_flags "$link")
  rewrite units
  jq -e '[.skipped[] | select(.name == ("one", "two", "three")).name] == ["three"]' units.report >/dev/null || fail "$link: $(jq -c .skipped units.report)"
  profiled units
done

# Where most of the code ends is no end of what is looked at, although a small section follows: node asks so for its pages.
cat >most.c <<'C'
#include "calls.h"
__asm__(".section .apart, \"ax\"\n.globl small\n.type small, @function\nsmall: .cfi_startproc\n  ret\n  .cfi_endproc\n.size small, .-small\n.text");
void small(void);
KEPT int first(int n) { CALLED("first"); return n + 1; }
KEPT int second(int n) { CALLED("second"); return n + 2; }
KEPT int is_mine(uintptr_t p) { CALLED("is_mine"); return p >= (uintptr_t)first && p < (uintptr_t)small; }
int main(int argc, char** argv) {
  CALLED("main");
  small();
  if (first(argc) + second(argc) != 5 || !is_mine((uintptr_t)second) || is_mine((uintptr_t)small)) return 1;
  print_calls();
  return 0;
}
C
for link in $links; do
  turn || continue
  # shellcheck disable=SC2046 # a list of words
  compile most most.c "-I$programs" -include stdint.h -O1 -fno-toplevel-reorder $(link_flags "$link")
  rewrite most
  jq -e '[.skipped[] | select(.name == ("second", "is_mine", "main"))] == []' most.report >/dev/null || fail "$link: $(jq -c .skipped most.report)"
  profiled most
  may_skip=first expect_calls most <most.stdout
done

# valgrind's memcheck compares the program counter with labels around a system call that a signal has interrupted.
cat >interrupted.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static void handle(int s) {}
int main(void) {
  const struct sigaction action = {.sa_handler = handle};
  sigaction(SIGALRM, &action, NULL);
  int pipes[2];
  char c;
  if (pipe(pipes) != 0) return 1;
  ualarm(50000, 50000);
  printf("%zd\n", read(pipes[0], &c, 1));
  return 0;
}
C
compile interrupted interrupted.c -O2
mkdir -p valgrind
ln -sf /usr/libexec/valgrind/* valgrind/
rm -f valgrind/memcheck-amd64-linux
# It never sets the base of fs, see reads_fs: where hooks ask the kernel, it does not get on between two signals.
hooks=
reads_fs || hooks=--no-hooks
profld -q $hooks -o valgrind/memcheck-amd64-linux /usr/libexec/valgrind/memcheck-amd64-linux 2>profld.log || fail "memcheck: $(cat profld.log)"
PROFDIR=copy VALGRIND_LIB=$PWD/valgrind run valgrind -q ./interrupted
[ "$status $(cat stdout)" = "0 -1" ] || fail "memcheck: $status $(head -n 3 stdout stderr)"
