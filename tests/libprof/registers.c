// registers: the hooks keep all general registers, all status flags, and the vector registers, on every path: the first
// hook of a thread, a call for which a node must be made, one that is found in the table, one that was made last, a
// frame at the end of a chunk. Prints "ok N" with the number of hook calls that were checked.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct registers {
  uint64_t general[15];  // all but rsp
  uint64_t flags;
  uint8_t vector[16][16];
};

// Loads the registers from *in, calls the hook at the place-th call instruction, and stores them to *out. The hook
// sees the frame of this call; depth words of the stack are left out before it.
void call_hook(const struct registers* in, struct registers* out, void* hook, uint64_t place, uint64_t depth);

asm(R"(
        .text
        .globl call_hook
        .type call_hook, @function
call_hook:
        push %rbx
        push %rbp
        push %r12
        push %r13
        push %r14
        push %r15
        mov %rsp, saved_stack(%rip)
        mov %rsi, result(%rip)
        mov %rdx, hook(%rip)
        imul $call_size, %rcx, %rcx
        lea calls(%rip), %rax
        add %rcx, %rax
        mov %rax, target(%rip)
        shl $3, %r8
        sub %r8, %rsp
        movups 128(%rdi), %xmm0
        movups 144(%rdi), %xmm1
        movups 160(%rdi), %xmm2
        movups 176(%rdi), %xmm3
        movups 192(%rdi), %xmm4
        movups 208(%rdi), %xmm5
        movups 224(%rdi), %xmm6
        movups 240(%rdi), %xmm7
        movups 256(%rdi), %xmm8
        movups 272(%rdi), %xmm9
        movups 288(%rdi), %xmm10
        movups 304(%rdi), %xmm11
        movups 320(%rdi), %xmm12
        movups 336(%rdi), %xmm13
        movups 352(%rdi), %xmm14
        movups 368(%rdi), %xmm15
        pushq 120(%rdi)
        mov (%rdi), %rax
        mov 8(%rdi), %rbx
        mov 16(%rdi), %rcx
        mov 24(%rdi), %rdx
        mov 32(%rdi), %rsi
        mov 48(%rdi), %rbp
        mov 56(%rdi), %r8
        mov 64(%rdi), %r9
        mov 72(%rdi), %r10
        mov 80(%rdi), %r11
        mov 88(%rdi), %r12
        mov 96(%rdi), %r13
        mov 104(%rdi), %r14
        mov 112(%rdi), %r15
        mov 40(%rdi), %rdi
        popfq
        jmp *target(%rip)
        .balign 16
calls:
        .rept 600
1:      call *hook(%rip)
        .byte 0xe9
        .long stored - . - 4
        .balign 16
        .endr
        .set call_size, 16
stored:
        pushfq
        push %rdi
        mov result(%rip), %rdi
        mov %rax, (%rdi)
        mov %rbx, 8(%rdi)
        mov %rcx, 16(%rdi)
        mov %rdx, 24(%rdi)
        mov %rsi, 32(%rdi)
        mov %rbp, 48(%rdi)
        mov %r8, 56(%rdi)
        mov %r9, 64(%rdi)
        mov %r10, 72(%rdi)
        mov %r11, 80(%rdi)
        mov %r12, 88(%rdi)
        mov %r13, 96(%rdi)
        mov %r14, 104(%rdi)
        mov %r15, 112(%rdi)
        pop %rax
        mov %rax, 40(%rdi)
        pop %rax
        mov %rax, 120(%rdi)
        movups %xmm0, 128(%rdi)
        movups %xmm1, 144(%rdi)
        movups %xmm2, 160(%rdi)
        movups %xmm3, 176(%rdi)
        movups %xmm4, 192(%rdi)
        movups %xmm5, 208(%rdi)
        movups %xmm6, 224(%rdi)
        movups %xmm7, 240(%rdi)
        movups %xmm8, 256(%rdi)
        movups %xmm9, 272(%rdi)
        movups %xmm10, 288(%rdi)
        movups %xmm11, 304(%rdi)
        movups %xmm12, 320(%rdi)
        movups %xmm13, 336(%rdi)
        movups %xmm14, 352(%rdi)
        movups %xmm15, 368(%rdi)
        mov saved_stack(%rip), %rsp
        pop %r15
        pop %r14
        pop %r13
        pop %r12
        pop %rbp
        pop %rbx
        ret
        .size call_hook, . - call_hook
        .data
        .balign 8
saved_stack: .quad 0
result: .quad 0
hook: .quad 0
target: .quad 0
        .text
)");

void _profin(void);
void _profout(void);
void _proftail(void);
void _profjump(void);
static long checked;

static void check(void* hook, uint64_t place, uint64_t depth, uint64_t flags) {
  static const uint64_t status = 0x8d5;  // OF SF ZF AF PF CF
  struct registers in, out;
  for (unsigned i = 0; i < sizeof in; i++) ((uint8_t*)&in)[i] = (uint8_t)rand();
  memset(&out, 0, sizeof out);
  in.flags = flags | 0x202;
  call_hook(&in, &out, hook, place, depth);
  if (memcmp(in.general, out.general, sizeof in.general) != 0) {
    for (int i = 0; i < 15; i++) {
      if (in.general[i] != out.general[i]) printf("register %d: %lx became %lx\n", i, in.general[i], out.general[i]);
    }
    exit(1);
  }
  if ((in.flags & status) != (out.flags & status)) {
    printf("flags %lx became %lx\n", in.flags & status, out.flags & status);
    exit(1);
  }
  if (memcmp(in.vector, out.vector, sizeof in.vector) != 0) {
    printf("a vector register changed\n");
    exit(1);
  }
  checked++;
}

static uint64_t flags_of(unsigned n) {
  return (n & 1) | (n & 2) << 1 | (n & 4) << 2 | (uint64_t)(n & 8) << 3 | (n & 16) << 3 | (uint64_t)(n & 32) << 6;
}

static void* all(void* unused) {
  (void)unused;
  for (unsigned f = 0; f < 64; f++) {
    // The first hooks of the thread, then the same call again and again, then two in turn, then calls seen never before.
    check(_profin, 0, 0, flags_of(f));
    check(_profout, 0, 0, flags_of(f));
    check(_profin, 1 + f % 2, 0, flags_of(f));
    check(_profout, 0, 0, flags_of(f));
    check(_profin, 10 + f, 0, flags_of(f));
    check(_profout, 0, 0, flags_of(f));
    // Tail calls: the first, the same again, another one.
    for (int i = 0; i < 3; i++) {
      check(_profin, (uint64_t)i / 2, 0, flags_of(f));
      check(_proftail, 0, 0, flags_of(f));
      check(_proftail, 0, 0, flags_of(f));
      check(i == 0 ? _profjump : _profout, 0, 0, flags_of(f));
    }
    // An exit that has no entry.
    check(_profout, 0, 2, flags_of(f));
    check(_profjump, 0, 2, flags_of(f));
  }
  // Deeper and deeper, over the ends of chunks; then out again, with a frame skipped now and then.
  for (unsigned d = 0; d < 500; d++) check(_profin, d % 600, d, flags_of(d % 64));
  for (unsigned d = 500; d-- > 0;) {
    if (d % 7 != 3) check(_profout, 0, d, flags_of(d % 64));
  }
  return NULL;
}

int main(void) {
  pthread_t thread;
  all(NULL);
  pthread_create(&thread, NULL, all, NULL);
  pthread_join(thread, NULL);
  printf("ok %ld\n", checked);
}
