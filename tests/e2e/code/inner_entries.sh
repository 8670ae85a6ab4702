# Functions that end in a jump to one of many hand-written functions in one range, as those of LuaJIT's interface do: they are
# moved and counted, and the range stays.
. "${0%/*}/../common.inc"

cat >vm.s <<'S'
    .text
    .balign 16
    .type vm, @function
vm: .cfi_startproc
    .cfi_def_cfa_offset 32           # one row, for the middle of the functions
    .cfi_offset %rbx, -16
    ud2
called:                              # also called from elsewhere
    push %rbx
    sub $8, %rsp
    lea 1(%rdi), %ebx
    mov %ebx, %edi
    call inner
    lea (%rax, %rbx), %eax
    add $8, %rsp
    pop %rbx
    ret
only_jumped_to:
    push %rbx
    sub $8, %rsp
    lea 2(%rdi), %ebx
    mov %ebx, %edi
    call inner
    lea (%rax, %rbx, 2), %eax
    add $8, %rsp
    pop %rbx
    ret
inner:
    lea 3(%rdi), %eax
    ret
    .cfi_endproc
    .size vm, .-vm
    .globl called, only_jumped_to
    .section .note.GNU-stack
S
cat >interface.c <<'C'
#include "calls.h"
int called(int), only_jumped_to(int);
KEPT int calls(int n) { CALLED("calls"); return called(n) + 1; }
KEPT int jumps(int n) { CALLED("jumps"); return called(n); }
KEPT int only_jumps(int n) { CALLED("only_jumps"); return only_jumped_to(n); }
KEPT int sometimes_jumps(int n) { CALLED("sometimes_jumps"); return n & 1 ? only_jumped_to(n) : n; }
int main(void) {
  CALLED("main");
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += calls(i) + jumps(i) * 2 + only_jumps(i) * 3 + sometimes_jumps(i) * 5 + sometimes_jumps(1);
  printf("%d\n", sum);
  print_calls();
  return 0;
}
C
for mode in -pie -no-pie -static; do
  pie=-fPIE
  [ "$mode" = -pie ] || pie=-fno-pie
  compile "interface$mode" interface.c vm.s -O2 $pie "$mode"
  objdump -d --disassemble=only_jumps "interface$mode" >code
  grep -q 'jmp.*<only_jumped_to>' code || fail "$mode: there is no jump to test"
  cp "interface$mode" "stripped$mode"
  strip "stripped$mode"
  for program in "interface$mode" "stripped$mode"; do
    rewrite "$program"
    profiled "$program"
    expect_calls_by_address "$program" "interface$mode" <"$program.stdout"
  done
  # The range, which is no function, stays, and the functions that jump there do not.
  vm=$((0x$(nm -S "interface$mode" | awk '$4 == "vm" { print $2 }')))
  jq -e --argjson vm "$vm" '.code.stays >= $vm and all(.skipped[]; .name | test("calls|jumps") | not)' "interface$mode.report" >/dev/null ||
    fail "$mode: $(jq -c '.code, .skipped' "interface$mode.report")"
done
