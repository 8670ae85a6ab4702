/* Threads and children that use the segment register gs for data of their own, a statement on each line. */

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSetGs = 0x1001, kGetGs = 0x1004 };

struct own {
  struct own *self;
  long count;
};

static long base_of_gs(void) {
  long base = 0;
  syscall(SYS_arch_prctl, kGetGs, &base);
  return base;
}

static void use_gs(struct own *own) {
  own->self = own;
  own->count = 0;
  syscall(SYS_arch_prctl, kSetGs, own);
}

static long count_up(long n) {
  long last = 0;
  for (long i = 0; i < n; i++) {
    __asm__ volatile("incq %gs:8");
    if (i % 3 == 1)
      __asm__ volatile("movq %%gs:8, %0" : "=r"(last));
  }
  return last;
}

static void *work(void *argument) {
  struct own *own = argument;
  use_gs(own);
  for (int i = 0; i < 5; i++)
    count_up(20000);
  if (base_of_gs() != (long)own)
    own->count = -1;
  return NULL;
}

static void handle(int signal) {
  (void)signal;
  count_up(3);
}

int main(int argc, char **argv) {
  pthread_t threads[4];
  struct own own[5];
  (void)argv;
  use_gs(&own[4]);
  for (int i = 0; i < 4; i++)
    pthread_create(&threads[i], NULL, work, &own[i]);
  count_up(30000);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  signal(SIGUSR1, handle);
  raise(SIGUSR1);
  fflush(stdout);
  const pid_t child = fork(); /* two ways in */
  if (child == 0) {
    count_up(700);
    return own[4].count != 30703;
  }
  int status = 0;
  waitpid(child, &status, 0);
  for (int i = 0; i < 5; i++)
    printf("%ld\n", own[i].count);
  printf("%d\n", base_of_gs() == (long)&own[4]);
  printf("%d\n", WEXITSTATUS(status));
  fflush(stdout);
  if (argc > 1)
    raise(SIGKILL);
  return 0;
}
