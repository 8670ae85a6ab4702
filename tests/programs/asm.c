// Hand-written assembly: entries in mid-function, a fall-through into the next function, ret with a count, rep ret, jrcxz and loop, the
// flags as a result, a carry that goes round a loop, an address computed from the return address, data between instructions, a push/ret jump; and jumps to the
// function's own entry, which are calls where the frame has been given up, and else loops.
#include "calls.h"

long fallthrough(long n), next(long n), with_loop(long n), carry(long n), where(void), data(long n), through_stack(long n);
long far_branch(long n), pops(long a), scan(const char* text), itself(long n), itself_if(long n), around(long n);
long add_long(unsigned long* sum, const unsigned long* other, long words), order(long a, long b);

// With an unwind table for both, or where profld has searched for functions, falling through is a call.
#ifdef DESCRIBE_FALLTHROUGH
#define STARTS ".cfi_startproc\n"
#define ENDS ".cfi_endproc\n"
#else
#define STARTS
#define ENDS
#endif

__asm__(
    ".text\n"
    ".type fallthrough,@function\nfallthrough: " STARTS "add $1,%rdi\n" ENDS ".size fallthrough,.-fallthrough\n"
    ".type next,@function\nnext: " STARTS "lea (%rdi,%rdi,2),%rax\n ret\n" ENDS ".size next,.-next\n"
    ".type with_loop,@function\nwith_loop: xor %eax,%eax\n mov %rdi,%rcx\n jrcxz 2f\n1: add %rcx,%rax\n loop 1b\n2: rep ret\n"
    ".size with_loop,.-with_loop\n"
    ".type set_carry,@function\nset_carry: cmp %rsi,%rdi\n ret\n.size set_carry,.-set_carry\n"
    // The caller uses the callee's flags, and r11 and rax beyond the call.
    ".type carry,@function\ncarry: mov $77,%r11\n mov $5,%eax\n mov $10,%esi\n call set_carry\n jb 1f\n add %r11,%rax\n1: ret\n"
    ".size carry,.-carry\n"
    // Neither dec nor what counts in between may change the carry.
    ".type add_long,@function\nadd_long: mov %rdx,%rcx\n xor %edx,%edx\n1: mov (%rsi,%rdx,8),%rax\n adc %rax,(%rdi,%rdx,8)\n"
    " lea 1(%rdx),%rdx\n dec %rcx\n jnz 1b\n setc %al\n movzbl %al,%eax\n ret\n.size add_long,.-add_long\n"
    // The second jump looks at the carry alone.
    ".type order,@function\norder: cmp %rsi,%rdi\n je 2f\n jb 1f\n mov $1,%eax\n ret\n1: mov $-1,%rax\n ret\n2: xor %eax,%eax\n ret\n"
    ".size order,.-order\n"
    // Position-independent code of old: the address of the instruction after the call.
    ".type where,@function\nwhere: call 1f\n1: pop %rax\n lea 1b(%rip),%rdx\n sub %rdx,%rax\n setne %al\n movzbl %al,%eax\n ret\n"
    ".size where,.-where\n"
    ".type data,@function\ndata: and $3,%edi\n lea 1f(%rip),%rax\n movzbl (%rax,%rdi),%eax\n ret\n1: .byte 10,20,30,40\n"
    ".size data,.-data\n"
    ".type through_stack,@function\nthrough_stack: lea next(%rip),%rax\n push %rax\n ret\n.size through_stack,.-through_stack\n"
    // Short branches at the limit of their reach.
    ".type far_branch,@function\nfar_branch: mov %rdi,%rax\n test $1,%dil\n jnz 2f\n .fill 120,1,0x90\n ret\n2: neg %rax\n ret\n"
    ".size far_branch,.-far_branch\n"
    ".type with_count,@function\nwith_count: mov 8(%rsp),%rax\n add 16(%rsp),%rax\n ret $16\n.size with_count,.-with_count\n"
    ".type pops,@function\npops: push %rdi\n push $9\n call with_count\n ret\n.size pops,.-pops\n"
    ".type scan,@function\nscan: xor %eax,%eax\n mov $-1,%rcx\n repne scasb\n not %rcx\n lea -1(%rcx),%rax\n ret\n.size scan,.-scan\n"
    ".type itself,@function\nitself: .cfi_startproc\n push %rbx\n .cfi_def_cfa_offset 16\n mov %rdi,%rbx\n test %rbx,%rbx\n jz 1f\n"
    " lea -1(%rbx),%rdi\n .cfi_remember_state\n pop %rbx\n .cfi_def_cfa_offset 8\n jmp itself\n1: .cfi_restore_state\n pop %rbx\n"
    " .cfi_def_cfa_offset 8\n mov $3,%eax\n ret\n.cfi_endproc\n.size itself,.-itself\n"
    ".type itself_if,@function\nitself_if: .cfi_startproc\n push %rbx\n .cfi_def_cfa_offset 16\n dec %rdi\n pop %rbx\n"
    " .cfi_def_cfa_offset 8\n jnz itself_if\n mov $4,%eax\n ret\n.cfi_endproc\n.size itself_if,.-itself_if\n"
    ".type around,@function\naround: .cfi_startproc\n dec %rdi\n jnz around\n mov $5,%eax\n ret\n.cfi_endproc\n.size around,.-around\n");

int main(void) {
  CALLED("main");
  long sum = 0;
  for (long i = 0; i < 100; ++i)
    sum = sum * 3 + fallthrough(i) + next(i) + with_loop(i % 10) + carry(i) + data(i) + through_stack(i) + far_branch(i) + pops(i) +
          scan("some text");
  printf("%ld %ld\n", sum, where());
  printf("%ld %ld %ld\n", itself(6), itself_if(6), around(6));
  unsigned long number[] = {-1ul, -1ul, 5, 0};
  const unsigned long other[] = {1, 0, 7, -1ul};
  const long carried = add_long(number, other, 4);
  printf("%ld: %lx %lx %lx %lx; %ld %ld %ld\n", carried, number[0], number[1], number[2], number[3], order(1, 2), order(2, 2), order(3, 2));
  printf("calls itself 7\ncalls itself_if 6\ncalls around 1\n");
  print_calls();
  return 0;
}
