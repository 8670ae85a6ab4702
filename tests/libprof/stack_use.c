// stack_use: prints how many bytes of the program's stack the hooks need below the stack pointer at their call, at most: in
// the first hook of a thread, when a node is made, in fast paths, in tail calls and in exits, and after a sleep, when hooks ask
// how long that was. Signals of samples have a stack of their own: what the kernel needs for them is not the hooks'.

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { kSize = 65536 };
static char* stack;

void on_stack(char* top, void (*function)(void));
asm(R"(
        .text
on_stack:
        push %rbp
        mov %rsp, %rbp
        mov %rdi, %rsp
        call *%rsi
        mov %rbp, %rsp
        pop %rbp
        ret
hooks:
        mov $300, %ecx
1:      call enter_and_leave
        dec %ecx
        jnz 1b
        ret
        .macro hook name
        mov %ecx, %r9d
        mov $35, %eax                   # nanosleep
        lea moment(%rip), %rdi
        xor %esi, %esi
        syscall
        mov %r9d, %ecx
        call *\name@GOTPCREL(%rip)
        .endm
        .set n, 0
enter_and_leave:
        .rept 300
        cmp $n, %ecx
        jne 2f
        hook _profin
3:      hook _proftail
        .byte 0xe9
        .long 4f - . - 4
        hook _profin
4:      hook _profjump
        .byte 0xe9
        .long 5f - . - 4
5:      hook _profin
        hook _profout
2:      .set n, n + 1
        .endr
        ret
)");
void hooks(void);
const struct timespec moment = {0, 1000};

static void* run(void* unused) {
  (void)unused;
  static char for_signals[kSize];
  sigaltstack(&(stack_t){.ss_sp = for_signals, .ss_size = sizeof for_signals}, NULL);
  memset(stack, 0x5a, kSize);
  on_stack(stack + kSize, hooks);
  return NULL;
}

int main(void) {
  stack = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  pthread_join(thread, NULL);
  int unused = 0;
  while (unused < kSize && stack[unused] == 0x5a) unused++;
  printf("%d\n", kSize - unused - 16);
}
