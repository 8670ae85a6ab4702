/* Accesses to memory of every kind that a trace of memory has to tell, without a C library: the same each time. -DUNKNOWN
   adds one that cannot be told. */

#define SYSTEM_CALL(number, a, b, c) \
  __asm__ volatile("syscall" : : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory")

static unsigned long words[512] __attribute__((aligned(64), used));
static unsigned char bytes[1024] __attribute__((aligned(64)));
static unsigned long* chain[16];
static long thread_block[8] = {(long)&thread_block[0], 11, 22, 33};

/* Each register is loaded through the one before it, and into itself. */
__attribute__((noinline)) static unsigned long follow(unsigned long** start) {
  unsigned long result;
  __asm__ volatile(
      "mov %1, %%rax\n"
      "mov (%%rax), %%rax\n"
      "mov (%%rax), %%rax\n"
      "mov 8(%%rax), %%rcx\n"
      "mov (%%rax), %%rax\n"
      "mov 16(%%rax), %%rax\n"
      "mov %%rax, %0"
      : "=r"(result)
      : "r"(start)
      : "rax", "rcx", "memory");
  return result;
}

__attribute__((noinline)) static void strings(unsigned long n) {
  unsigned long count = n / 8, from = (unsigned long)bytes, to = (unsigned long)words;
  __asm__ volatile("rep stosb" : : "D"(bytes), "a"(1), "c"(n) : "memory");
  __asm__ volatile("rep movsq" : "+c"(count), "+S"(from), "+D"(to) : : "memory");
  count = n;
  to = (unsigned long)(bytes + n + 7);
  __asm__ volatile("std\n rep stosb\n cld" : "+c"(count), "+D"(to) : "a"(3) : "memory");
  from = (unsigned long)bytes;
  to = (unsigned long)(bytes + 64);
  __asm__ volatile(
      "movsb\n lodsw\n stosl\n movsq\n cmpsb\n scasb\n"
      "mov $3, %%ecx\n rep lodsq\n xor %%ecx, %%ecx\n rep stosq"
      : "+S"(from), "+D"(to)
      :
      : "rax", "rcx", "cc", "memory");
}

/* The direction is set in another block. */
__attribute__((noinline)) static void downwards(unsigned long n) {
  unsigned long to = (unsigned long)(words + 100);
  __asm__ volatile("std\n test %0, %0\n jz 1f\n nop\n 1: rep stosq\n cld"
                   : "+c"(n), "+D"(to)
                   : "a"(5)
                   : "cc", "memory");
}

__attribute__((noinline, used)) static void called(void) { __asm__ volatile("mov %rcx, -16(%rsp)"); }

__attribute__((noinline)) static void stack(void) {
  __asm__ volatile(
      "lea -256(%%rsp), %%rsp\n"
      "push %%rax\n push $7\n push words(%%rip)\n pushf\n popf\n pop 8(%%rsp)\n pop words+8(%%rip)\n pop %%rcx\n"
      "pushw $3\n popw %%cx\n"
      "push %%rbp\n mov %%rsp, %%rbp\n sub $64, %%rsp\n mov %%rax, -8(%%rbp)\n and $-16, %%rsp\n mov %%rax, "
      "16(%%rsp)\n leave\n"
      "enter $32, $0\n mov %%rcx, 8(%%rsp)\n leave\n"
      "mov %%rsp, %%rdx\n add $8, %%rdx\n xchg %%rdx, %%rsp\n mov %%rcx, (%%rsp)\n xchg %%rdx, %%rsp\n"
      "call called\n mov $called, %%ecx\n call *%%rcx\n"
      "lea 256(%%rsp), %%rsp"
      :
      :
      : "rax", "rcx", "rdx", "cc", "memory");
}

/* Below the stack pointer, without moving it: flags and registers are all in use. */
__attribute__((noinline)) static unsigned long red_zone(unsigned long a, unsigned long b) {
  unsigned long result;
  __asm__ volatile(
      "cmp %1, %2\n"
      "mov %1, -8(%%rsp)\n mov %2, -128(%%rsp)\n mov %%rdi, -64(%%rsp)\n"
      "mov (%3), %%rax\n mov (%%rax), %%rax\n mov -8(%%rsp), %%rcx\n cmovb -128(%%rsp), %%rcx\n setb -1(%%rsp)\n"
      "lea (%%rax,%%rcx), %0"
      : "=&r"(result)
      : "r"(a), "r"(b), "r"(chain)
      : "rax", "rcx", "cc", "memory");
  return result;
}

__attribute__((noinline)) static void addresses(unsigned long i) {
  __asm__ volatile(
      "mov words(,%0,8), %%rax\n mov words+16(%1,%0,4), %%rdx\n movl $1, (%2,%0)\n"
      "lea (%2,%0,2), %%rax\n incb 3(%%rax)\n lea 8(%%rax), %%rax\n incl (%%rax)\n dec %%rax\n notb (%%rax)\n"
      "mov $words, %%eax\n mov 8(%%rax), %%rcx\n lea words(%%rip), %%rax\n xadd %%rcx, 24(%%rax,%0,8)\n"
      "movl %%ecx, (%k2,%k0,1)\n"
      "bts %0, words+64(%%rip)\n btw %w0, (%2)\n neg %0\n btcl %k0, 128(%2)\n bt $3, 64(%2)\n neg %0\n"
      "mov %2, %%rbx\n mov %0, %%rax\n xlat\n"
      "movdqu 16(%2), %%xmm0\n movaps %%xmm0, 32(%2)\n movlhps %%xmm0, %%xmm1\n movss %%xmm0, 4(%2,%0,4)\n"
      "prefetcht0 (%2)\n nopl (%2)\n lea (%2), %%rcx\n cmpxchg %%rcx, 40(%2)\n"
      :
      : "r"(i), "r"(0l), "r"(bytes)
      : "rax", "rbx", "rcx", "rdx", "cc", "memory", "xmm0", "xmm1");
}

__attribute__((noinline)) static long of_thread(unsigned long i) {
#ifdef WITHOUT_FS
  return (long)i;
#endif
  long a, b;
  __asm__ volatile("mov %%fs:8, %0\n mov %%fs:(,%2,8), %1\n add %1, %0\n mov %0, %%fs:32(%3)"
                   : "=&r"(a), "=&r"(b)
                   : "r"(i), "r"(8l)
                   : "memory");
  return a;
}

#ifdef UNKNOWN
__attribute__((noinline, target("avx2"))) static void unknown(void) {
  static const int indices[4] = {3, 1, 2, 7};
  __asm__ volatile("movdqu %0, %%xmm1\n pcmpeqd %%xmm2, %%xmm2\n vpgatherdd %%xmm2, (%1,%%xmm1,4), %%xmm3\n"
                   :
                   : "m"(indices), "r"(bytes)
                   : "xmm1", "xmm2", "xmm3");
}
#endif

void _start(void) {
  unsigned long sum = 0;
  SYSTEM_CALL(158, 0x1002, thread_block, 0); /* arch_prctl(ARCH_SET_FS) */
  chain[0] = (unsigned long*)&chain[2];
  chain[2] = (unsigned long*)&chain[4];
  chain[4] = (unsigned long*)&chain[6];
  for (unsigned long i = 0; i < 40; ++i) {
    sum += follow(chain) + red_zone(i, 20);
    strings(i * 5);
    downwards(i);
    stack();
    addresses(i);
    sum += (unsigned long)of_thread(i % 4);
#ifdef UNKNOWN
    unknown();
#endif
  }
  SYSTEM_CALL(231, sum % 64, 0, 0);
  for (;;) {
  }
}
