// bounds deep N | wide | contexts N [THREADS]: recursion N deep over two functions; a function with 10^5 different
// callees, called twice each; N calls in ever new contexts, in each of so many threads that live at once (1). Prints
// "calls NAME N".

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hooked.h"
#include "random_calls.h"

int ping(int), pong(int), leaf(int), hub(int), root(int);
HOOKED(ping);
HOOKED(pong);
HOOKED(leaf);
HOOKED(hub);
HOOKED(root);
static long ping_calls, pong_calls, leaf_calls;

int leaf_body(int x) {
  leaf_calls++;
  return x;
}
int ping_body(int x) {
  ping_calls++;
  return leaf(x) && x > 0 ? pong(x - 1) + 1 : 0;
}
int pong_body(int x) {
  pong_calls++;
  return x > 0 ? ping(x - 1) + leaf(1) : 0;
}

// 10^5 functions of 16 bytes.
asm(R"(
        .text
        .balign 16
        .globl callees
        .type callees, @function
callees:
        .rept 100000
        .balign 16
        call *_profin@GOTPCREL(%rip)
        call *_profout@GOTPCREL(%rip)
        ret
        .endr
        .size callees, . - callees
)");
extern char callees[];
int hub_body(int x) {
  for (int round = 0; round < 2; round++) {
    for (long i = 0; i < 100000; i++) ((void (*)(void))(callees + 16 * i))();
  }
  return x;
}

int root_body(int x) {
  while (left > 0) descend(x);
  return 0;
}

static long size;
static pthread_barrier_t all_are_there;
static void* in_contexts(void* unused) {
  (void)unused;
  left = size;
  root(40);
  pthread_barrier_wait(&all_are_there);
  return NULL;
}
static void* deep(void* unused) {
  (void)unused;
  ping((int)size);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  size = argc > 2 ? atol(argv[2]) : 0;
  if (!strcmp(argv[1], "deep")) {
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, (size_t)size * 128 + (1 << 20))) return 1;
    if (pthread_create(&thread, &attributes, deep, NULL)) return 1;
    pthread_join(thread, NULL);
    printf("calls ping %ld\ncalls pong %ld\ncalls leaf %ld\n", ping_calls, pong_calls, leaf_calls);
  } else if (!strcmp(argv[1], "wide")) {
    hub(1);
    printf("calls callees 200000\ncalls hub 1\n");
  } else {
    const unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    pthread_barrier_init(&all_are_there, NULL, threads);
    for (unsigned i = 1; i < threads; i++) {
      pthread_t thread;
      if (pthread_create(&thread, NULL, in_contexts, NULL) || pthread_detach(thread)) return 1;
    }
    in_contexts(NULL);
    for (int i = 0; i < RANDOM_FUNCTIONS; i++) printf("calls r%d %ld\n", i, made[i]);
    printf("calls root %u\n", threads);
  }
}
