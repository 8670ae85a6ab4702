// no_guard WHAT SIZE: a stack of SIZE KiB without a guard page overflows: a thread's, or a coroutine's that mmap gave,
// which comes to lie beside whatever was mapped before; by frames of less than a page each.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static ucontext_t back, coroutine;

__attribute__((noinline)) static long deep(volatile long* p) {
  volatile long b[2];
  b[0] = *p;
  return deep(b) + b[0];
}
static void overflow(void) {
  long c = 1;
  deep(&c);
}
static void* run(void* unused) {
  overflow();
  return unused;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const size_t size = (size_t)atoi(argv[2]) << 10;
  alarm(60);  // what runs wild ends by another signal than what overflows
  if (!strcmp(argv[1], "thread")) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, size) || pthread_attr_setguardsize(&attributes, 0)) return 1;
    if (pthread_create(&thread, &attributes, run, NULL)) return 1;
    pthread_join(thread, NULL);
  } else {
    getcontext(&coroutine);
    coroutine.uc_stack.ss_size = size;
    coroutine.uc_stack.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    coroutine.uc_link = &back;
    makecontext(&coroutine, overflow, 0);
    swapcontext(&back, &coroutine);
  }
  return 0;
}
