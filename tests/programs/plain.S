/* Runs plain instructions in many forms, and prints what became of them: memory, registers and flags after each, 248 bytes. It does
   so once more for each word on its command line, with other values. Without libc, and with a stack of its own, so that addresses are
   the same each time. */

  .bss
  .balign 4096
stack_begin: .skip 4096
stack: .skip 256
area: .skip 112
kept: .skip 17 * 8 /* registers as numbered, flags */
area_end:
values: .skip 112 + 17 * 8 /* what all of that is to be before an instruction */
output: .skip 65536
output_end: .skip 256
next_output: .skip 8
turns: .skip 8

  .text
/* Other values: r13 points into the area, r12 is 0 to 7, and the flags are status flags. */
choose:
  lea values(%rip), %rdi
  mov $(area_end - area) / 8, %ecx
  movabs $6364136223846793005, %rdx
  movabs $1442695040888963407, %rsi
  mov turns(%rip), %rax
1:imul %rdx, %rax
  add %rsi, %rax
  rol $23, %rax
  mov %rax, (%rdi)
  add $8, %rdi
  dec %ecx
  jnz 1b
  lea area+16(%rip), %rax
  mov %rax, values+112+13*8(%rip)
  andq $7, values+112+12*8(%rip)
  andq $0x8d5, values+112+16*8(%rip)
  ret

load:
  cld
  lea values(%rip), %rsi
  lea area(%rip), %rdi
  mov $112 / 8, %ecx
  rep movsq
  .set i, 0
  .irp reg, rax, rcx, rdx, rbx, skipped, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
  .ifnc \reg, skipped
  mov values+112+8*i(%rip), %\reg
  .endif
  .set i, i + 1
  .endr
  push values+112+8*16(%rip)
  popf
  ret

/* Adds what there is now to the output, and brings the stack in order. */
save:
  mov %rax, kept(%rip)
  pop %rax
  pushf
  pop kept+8*16(%rip)
  .set i, 1
  .irp reg, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
  mov %\reg, kept+8*i(%rip)
  .set i, i + 1
  .endr
  lea stack(%rip), %rsp
  mov %rax, %rbx
  lea area(%rip), %rsi
  mov next_output(%rip), %rdi
  mov $(area_end - area) / 8, %ecx
  cld
  rep movsq
  mov %rdi, next_output(%rip)
  lea output_end(%rip), %rax
  cmp %rax, %rdi
  jb 1f
  call write_all
1:jmp *%rbx

write_all:
  lea output(%rip), %rsi
  mov next_output(%rip), %rdx
  sub %rsi, %rdx
  mov %rsi, next_output(%rip)
  mov $1, %edi
  mov $1, %eax
  syscall
  ret

  .macro check instruction:vararg
  call load
  \instruction
  call save
  .endm

  .macro checks a, b, c, d, e, f, g
  call load
  \a
  \b
  \c
  \d
  \e
  \f
  \g
  call save
  .endm

  .globl _start
_start:
  mov (%rsp), %rax
  mov %rax, turns(%rip)
  lea stack(%rip), %rsp
  lea output(%rip), %rax
  mov %rax, next_output(%rip)
  mov $158, %eax /* arch_prctl: fs and gs begin at the area */
  mov $0x1002, %edi
  lea area+32(%rip), %rsi
  syscall
  mov $158, %eax
  mov $0x1001, %edi
  lea area+40(%rip), %rsi
  syscall

again:
  call choose
  .irp op, add, or, adc, sbb, and, sub, xor, cmp, test, mov
  check \op %bl, %cl
  check \op %ah, %bh
  check \op %ch, %dl
  check \op %sil, %r9b
  check \op %bpl, %r15b
  check \op %ax, %r10w
  check \op %eax, %r11d
  check \op %r8d, %ebp
  check \op %rdx, %rsi
  check \op %rsp, %r14
  check \op %rsp, %rbp
  check \op %esp, %esi
  check \op %sp, %di
  check \op $0x7f, %bh
  check \op $0x1234, %cx
  check \op $-3, %r9d
  check \op $0x12345678, %rdi
  check \op $5, %al
  check \op $0x4321, %ax
  check \op $0x7fedcba9, %eax
  check \op $-0x7fedcba9, %rax
  check \op %bl, (%r13)
  check \op %dh, area+67
  check \op %r8b, -5(%r13, %r12)
  check \op %r9w, 7(%r13, %r12, 2)
  check \op %ecx, 1(%r13, %r12, 8)
  check \op %r10, (%r13, %r12, 4)
  check \op %rsp, 8(%r13)
  check \op %rbx, area+20(%rip)
  check \op %esi, area+40
  check \op %edx, (%r13d)
  check \op %edx, 4(%r13d, %r12d, 2)
  check \op %rdx, %fs:8
  check \op %rdx, %gs:(, %r12, 2)
  check \op\()b $0x55, (%r13)
  check \op\()w $0x5566, area+70(%rip)
  check \op\()l $0x55667788, 1(%r13)
  check \op\()q $-0x55667788, 1(%r13)
  check \op\()l $3, (%r13, %r12)
  check \op -16(%rsp), %eax
  .endr
  .irp op, add, or, adc, sbb, and, sub, xor, cmp, mov
  check \op area+66(%rip), %bh
  check \op 1(%r13), %r9b
  check \op 2(%r13, %r12), %cx
  check \op 3(%r13, %r12), %r8d
  check \op 4(%r13, %r12, 8), %rdi
  .endr
  .irp op, inc, dec, neg, not
  check \op %ah
  check \op %dil
  check \op %cx
  check \op %r9d
  check \op %rbp
  check \op\()b (%r13)
  check \op\()w 1(%r13)
  check \op\()l 2(%r13)
  check \op\()q 3(%r13, %r12)
  .endr
  .irp op, rol, ror, rcl, rcr, shl, shr, sar
  .irp count, $0, $1, $7, $8, $17, $31, $33, $63, %cl
  check \op \count, %bl
  check \op \count, %bh
  check \op \count, %si
  check \op \count, %r9d
  check \op \count, %rdi
  check \op\()b \count, (%r13)
  check \op\()w \count, 5(%r13)
  check \op\()l \count, 5(%r13, %r12)
  check \op\()q \count, 5(%r13, %r12)
  .endr
  .endr
  .irp op, shld, shrd
  .irp count, $0, $1, $13, $40, %cl
  check \op \count, %r9d, %ebp
  check \op \count, %rdx, %rsi
  check \op \count, %rbx, 9(%r13)
  .endr
  check \op $5, %ax, %di
  .endr
  .irp op, mul, imul
  check \op %bl
  check \op %ch
  check \op %cx
  check \op %r9d
  check \op %rsi
  check \op %rsp
  check \op\()b (%r13)
  check \op\()w (%r13)
  check \op\()l (%r13)
  check \op\()q (%r13, %r12)
  .endr
  check imul %cx, %bx
  check imul %r9d, %ebx
  check imul (%r13), %rbx
  check imul $77, %r9w, %bx
  check imul $-77, %r9d, %ebx
  check imul $0x12345678, (%r13), %r8
  check imul $3, %rsp, %rax
  .irp reg, rbx, r9, rsp
  checks "xor %edx, %edx", "div %\reg"
  checks "cqo", "idiv %\reg"
  checks "mov $2, %edx", "or $0x80, %bh", "bts $62, %rbx", "bts $62, %r9", "div %\reg"
  checks "bts $63, %rdx", "sar $62, %rdx", "mov %rdx, %rax", "shl $3, %rax", "idiv %\reg"
  .endr
  checks "cltd", "idivl (%r13)"
  checks "xor %edx, %edx", "divl 1(%r13)"
  checks "cwtd", "idiv %cx"
  checks "xor %edx, %edx", "div %r9w"
  checks "xor %eax, %eax", "mov $100, %al", "or $1, %bl", "div %bl"
  .irp op, bt, bts, btr, btc
  check \op %ax, %r9w
  check \op %r9d, %ebx
  check \op %rcx, %rsi
  check \op $3, %bx
  check \op $33, %r9d
  check \op $33, %rbp
  check \op\()w $30, (%r13)
  check \op\()l $30, 1(%r13)
  check \op\()q $60, 1(%r13, %r12)
  checks "movsbl %cl, %ecx", "\op %ecx, (%r13)" /* the bit is beyond the operand */
  .endr
  .irp op, movzb, movsb
  check \op\()w %ah, %bx
  check \op\()l %bh, %ebp
  .endr
  check movzbl %bh, %ebp
  check movzbl %bl, %esi
  check movsbl %dil, %r9d
  check movsbq (%r13), %r9
  check movzbw 1(%r13), %cx
  check movzwl %cx, %r9d
  check movswl 1(%r13), %ebx
  check movswq %sp, %rbx
  check movzwq 3(%r13), %rbx
  check movslq %esp, %rbx
  check movslq 5(%r13), %r9
  check movabs $0x123456789abcdef0, %r9
  check mov $0x12345678, %ebp
  check mov $0x1234, %si
  check mov $0x12, %bh
  check mov $0x12, %sil
  .irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
  check cmov\cc %ecx, %ebx
  check cmov\cc %r9, %rbp
  check cmov\cc %rsp, %rbp
  check cmov\cc 1(%r13), %si
  check cmov\cc 1(%r13), %edi
  check set\cc %bh
  check set\cc %r9b
  check set\cc 3(%r13)
  checks "j\cc 1f", "inc %rbx", "1:"
  checks "j\cc 1f", ".skip 200, 0x90", "1:"
  .endr
  check bt %rcx, %rsp
  checks "btc $3, %rsp", "btc $3, %rsp"
  check bswap %ebx
  check bswap %r9
  .irp op, bsf, bsr, tzcnt, lzcnt, popcnt
  check \op %cx, %bx
  check \op %r9d, %ebx
  check \op 1(%r13), %rbx
  check \op %rsp, %rbx
  checks "xor %ecx, %ecx", "\op %rcx, %r8"
  .endr
  check xchg %bl, %ah
  check xchg %r9d, %ebx
  check xchg %rax, %r8
  check xchg %eax, %ebx
  check xchg %rcx, (%r13)
  .irp op, cbtw, cwtl, cltq, cwtd, cltd, cqto, clc, stc, cmc, cld, std, nop, endbr64, lahf, sahf
  check \op
  .endr
  check nopl 0x12345678(%rax, %rax)
  .irp instruction, stosb, stosw, stosl, stosq, movsb, movsw, movsl, movsq
  checks "mov %r13, %rsi", "lea area+40(%rip), %rdi", "\instruction"
  checks "mov %r13, %rsi", "lea area+40(%rip), %rdi", "mov $5, %ecx", "rep \instruction"
  checks "mov %r13, %rsi", "lea area+40(%rip), %rdi", "xor %ecx, %ecx", "rep \instruction"
  checks "mov %r13, %rdi", "lea area+60(%rip), %rsi", "mov $2, %ecx", "std", "rep \instruction"
  .endr
  checks "mov %r13, %rsi", "lea area+40(%rip), %rdi", "mov $5, %ecx", "repe cmpsb"
  checks "mov %r13, %rdi", "mov $9, %ecx", "repne scasb"
  check lea 3(%r13, %r12, 8), %rbx
  check lea 3(%r13, %r12, 8), %ebx
  check lea 3(%r13, %r12, 8), %bx
  check lea -3(%r9d, %ecx, 4), %rbx
  check lea -3(%rsp, %rcx), %rbp
  check lea 16(%rsp), %rsp
  check lea area(%rip), %r8
  checks "push %rbx", "mov %rsp, %rbp"
  check push $-7
  check push $0x12345678
  check push %rsp
  check push 8(%r13)
  checks "push %rcx", "push %r9", "pop %rbx", "pop %rax"
  checks "push %rsp", "pop %rsp"
  checks "push %r13", "pop %rsp"
  checks "push %fs:0", "pop %rax"
  checks "push %rcx", "pop 3(%r13)"
  checks "push %cx", "pop %bx"
  checks "push %rbp", "mov %rsp, %rbp", "sub $64, %rsp", "and $-16, %rsp", "mov %rbx, (%rsp)", "leave"
  checks "sub $128, %rsp", "add $120, %rsp", "inc %rsp", "dec %rsp", "neg %rsp", "neg %rsp"
  /* A stack pointer that is no address would be a fault on processors of AMD's whenever they are interrupted there, as by a step. */
  checks "shr $17, %rbx", "xchg %rsp, %rbx", "xchg %rsp, %rbx"
  checks "mov %rsp, %rax", "mov %rax, %rsp", "shr $17, %rbx", "xor %rbx, %rsp", "xor %rbx, %rsp"
  checks "enter $16, $0", "leave"
  checks "call 1f", "inc %rbx", "1: pop %rax"
  checks "lea 1f(%rip), %rax", "jmp *%rax", "inc %rbx", "1:"
  checks "lea 1f(%rip), %rax", "mov %rax, (%r13)", "jmp *(%r13)", "inc %rbx", "1:"
  checks "lea 1f(%rip), %rax", "mov %rax, -8(%rsp)", "call *-8(%rsp)", "1: pop %rbx"
  checks "lea 1f(%rip), %rax", "call *%rax", "1: pop %rbx"
  checks "push $3", "push $4", "lea 1f(%rip), %rax", "push %rax", "ret $16", "inc %rbx", "1:"
  checks "lea 1f(%rip), %rax", "push %rax", "rep ret", "1:"
  checks "mov $3, %ecx", "1: inc %rbx", "loop 1b"
  checks "xor %ecx, %ecx", "jrcxz 1f", "inc %rbx", "1:"
  check lock incl (%r13)
  check lock xadd %rbx, (%r13)
  check xadd %rbx, (%r13)
  check cmpxchg %ebx, (%r13)
  checks "movq %rbx, %xmm3", "paddq %xmm3, %xmm3", "movq %xmm3, %rax"
  check movnti %rbx, (%r13)
  check movbe (%r13), %rbx
  check andn %rax, %rbx, %rcx
  decq turns(%rip)
  jnz again

  call write_all
  mov $60, %eax
  xor %edi, %edi
  syscall
