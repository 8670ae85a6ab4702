// Functions of shapes that compilers make seldom or never, and the ways out of them: prefixed returns and jumps, conditional tail
// calls of all forms, several entries, shared code, parts that were moved away, with and without symbols. Each counts its calls itself.
#include "calls.h"

// FUNCTION NAME begins a function with a counter, END NAME ends it.
__asm__(
    ".macro FUNCTION name\n"
    " .pushsection .rodata\n text_\\name: .asciz \"\\name\"\n .popsection\n"
    " .pushsection counters,\"aw\",@progbits\n .balign 16\n counter_\\name: .quad text_\\name, 0\n .popsection\n"
    " .type \\name,@function\n\\name: .cfi_startproc\n"
    ".endm\n"
    ".macro COUNT name\n incq 8+counter_\\name(%rip)\n.endm\n"
    ".macro END name\n .cfi_endproc\n .size \\name, . - \\name\n.endm\n"
    ".text\n.balign 16\n"

    "FUNCTION bnd_ret\n COUNT bnd_ret\n lea 1(%rdi),%rax\n .byte 0xf2\n ret\nEND bnd_ret\n"
    "FUNCTION rep_ret\n COUNT rep_ret\n lea 2(%rdi),%rax\n rep ret\nEND rep_ret\n"
    "FUNCTION ret_count\n COUNT ret_count\n mov 8(%rsp),%rax\n .byte 0xf2\n ret $8\nEND ret_count\n"
    "FUNCTION calls_them\n COUNT calls_them\n push %rdi\n .cfi_adjust_cfa_offset 8\n .byte 0xf2\n call ret_count\n .cfi_adjust_cfa_offset -8\n"
    " push %rax\n .cfi_adjust_cfa_offset 8\n call rep_ret\n pop %rdi\n .cfi_adjust_cfa_offset -8\n .byte 0xf2\n jmp bnd_ret\nEND calls_them\n"

    // Conditional tail calls: near, with the condition that calls not taken, and short ones that exist with eight bits only.
    "FUNCTION if_even\n COUNT if_even\n test $1,%dil\n jz bnd_ret\n test $2,%dil\n jnz rep_ret\n xor %eax,%eax\n ret\nEND if_even\n"
    "FUNCTION if_zero\n COUNT if_zero\n mov %rdi,%rcx\n jrcxz short_target\n loop short_target\n mov $9,%eax\n ret\nEND if_zero\n"
    "FUNCTION short_target\n COUNT short_target\n mov $8,%eax\n ret\nEND short_target\n"
    // Indirect ones: by register, from memory, with notrack.
    "FUNCTION by_register\n COUNT by_register\n lea bnd_ret(%rip),%rax\n test $1,%dil\n jz 1f\n lea rep_ret(%rip),%rax\n1: notrack jmp *%rax\n"
    "END by_register\n"
    ".pushsection .data\n .balign 8\nfrom_memory_targets: .quad bnd_ret, rep_ret, if_even\n.popsection\n"
    "FUNCTION from_memory\n COUNT from_memory\n lea from_memory_targets(%rip),%rdx\n mov %rdi,%rax\n and $1,%eax\n jmp *(%rdx,%rax,8)\nEND from_memory\n"

    // Two functions that end in the same code, which belongs to the second.
    "FUNCTION sharer\n COUNT sharer\n mov %rdi,%rax\n jmp shared\nEND sharer\n"
    "FUNCTION owner\n COUNT owner\n lea 5(%rdi),%rax\nshared: lea (%rax,%rax,4),%rax\n test $4,%al\n jz 1f\n inc %rax\n1: ret\nEND owner\n"
    // One that runs into the next.
    "FUNCTION runs_on\n COUNT runs_on\n inc %rdi\nEND runs_on\n"
    "FUNCTION next\n COUNT next\n lea 3(%rdi),%rax\n ret\nEND next\n"
    // A second entry, with a symbol of its own, in the middle.
    "FUNCTION entries\n inc %rdi\n.type second_entry,@function\nsecond_entry: lea (%rdi,%rdi),%rax\n ret\n.size second_entry, . - second_entry\nEND entries\n"

    // No frame anywhere: nothing but the jumps tell that the last part is one of `parent`.
    "FUNCTION parent\n COUNT parent\n test $3,%dil\n jz parent_unlikely\n lea 7(%rdi),%rax\nparent_back: add $1,%rax\n ret\nEND parent\n"
    "FUNCTION other_parent\n COUNT other_parent\n test $3,%dil\n jz other_unlikely\n lea 7(%rdi),%rax\n ret\nEND other_parent\n"
    ".pushsection .text.unlikely,\"ax\",@progbits\n"
    ".type parent.cold,@function\nparent.cold: parent_unlikely: .cfi_startproc\n lea 70(%rdi),%rax\n jmp parent_back\n.cfi_endproc\n"
    ".size parent.cold, . - parent.cold\n"
    ".type other_parent.cold,@function\nother_parent.cold: other_unlikely: .cfi_startproc\n lea 71(%rdi),%rax\n ret\n.cfi_endproc\n"
    ".size other_parent.cold, . - other_parent.cold\n.popsection\n"

    // A part that begins with the frame in place, and one that is entered by a call as well.
    "FUNCTION framed\n COUNT framed\n push %rbx\n .cfi_def_cfa_offset 16\n .cfi_offset %rbx,-16\n mov %rdi,%rbx\n test $7,%dil\n jz framed_unlikely\n"
    " call next\nframed_back: add %rbx,%rax\n pop %rbx\n .cfi_def_cfa_offset 8\n ret\nEND framed\n"
    ".pushsection .text.unlikely,\"ax\",@progbits\n.type framed.cold,@function\nframed.cold: framed_unlikely: .cfi_startproc\n .cfi_def_cfa_offset 16\n"
    " .cfi_offset %rbx,-16\n call bnd_ret\n jmp framed_back\n.cfi_endproc\n.size framed.cold, . - framed.cold\n.popsection\n"

    // Data between the instructions, jumped over, and after a call that does not return there.
    // (It cannot be moved, so it does not count.)
    "FUNCTION over_data\n lea 1f(%rip),%rdx\n and $3,%edi\n jmp 2f\n1: .byte 11,0xe9,0x0f,44\n2: movzbl (%rdx,%rdi),%eax\n ret\nEND over_data\n"
    "FUNCTION stops\n COUNT stops\n test %rdi,%rdi\n js 1f\n mov %rdi,%rax\n ret\n1: ud2\nEND stops\n");

long bnd_ret(long), rep_ret(long), calls_them(long), if_even(long), if_zero(long), by_register(long), from_memory(long), sharer(long), owner(long);
long runs_on(long), next(long), short_target(long), entries(long), second_entry(long), parent(long), other_parent(long), framed(long), over_data(long), stops(long);

static long (*const functions[])(long) = {bnd_ret, rep_ret, calls_them, if_even, if_zero, short_target, by_register, from_memory, sharer, owner, runs_on, next, entries, second_entry,
                                          parent, other_parent, framed, over_data, stops};

int main(void) {
  CALLED("main");
  long sum = 0;
  for (long i = 0; i < 100; ++i) {
    for (unsigned f = 0; f < sizeof functions / sizeof *functions; ++f) sum = sum * 3 % 1000003 + functions[f](i);
    sum += entries(i) + 2 * second_entry(i) + 3 * owner(i) + parent(i);
  }
  printf("%ld\n", sum);
  print_calls();
  return 0;
}
