// Calls of functions of a library (imported.c) and of libc, in every way.
#include "imported.h"

#include <complex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

static jmp_buf back;

// How often something was found out at run time, as main's arguments are.
static volatile int some = 3;

KEPT static void arguments_and_results(void) {
  CALLED("arguments_and_results");
  for (int i = 0; i < some; ++i) {
    printf("%d %d\n", plain(i), many(1, 2, 3, 4, 5, 6, 7, 8.5, (struct Big){{1, 2, 3, 4, 5}}, i));
    printf("%f %f %f\n", mixed("ididididididi", 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, i), mixed(""), mixed("ld", 1.5L, 0.25));
    const struct Big b = big(i);
    const struct Pair p = pair(i);
    const struct Mixed m = mix(i);
    printf("%ld %ld %ld %ld %f\n", b.words[0] + b.words[4], p.first, p.second, m.whole, m.part);
    const _Complex long double z = two_extended(i);
    const _Complex double c = two(i);
    const Vector v = vector((Vector){i, 2}, (Vector){3, i});
    printf("%Lf %Lf %Lf %f %f %f %f\n", extended(i), creall(z), cimagl(z), creal(c), cimag(c), v[0], v[1]);
  }
}

// What is in registers across a call, and what a call leaves in them.
KEPT static double kept(double x, int n) {
  CALLED("kept");
  double a = x, b = 2 * x, c = 3 * x;
  for (int i = 0; i < n; ++i) {
    a += plain(i);
    b += a * c;
    c += plain(i + 1) > 2 ? b : a;
  }
  return a + b + c;
}

// Tail jumps to imports, plain and after a condition.
KEPT static int tail(int n) {
  CALLED("tail");
  return plain(2 * n);
}
KEPT static double tail_if(int n) {
  CALLED("tail_if");
  return n % 2 ? mixed("i", n) : 0;
}

KEPT static void called_back(int n) {
  CALLED("called_back");
  if (n == 2) each(1, called_back);
}
KEPT static int handed(int n) {
  CALLED("handed");
  return plain(n);
}

static int compared;
KEPT static int compare(const void* a, const void* b) {
  CALLED("compare");
  if (compared > 0 && --compared == 0) longjmp(back, 5);
  return *(const int*)a - *(const int*)b;
}
KEPT static void sort(int jump_at) {
  CALLED("sort");
  int numbers[] = {5, 3, 9, 1, 7, 2, 8};
  compared = jump_at;
  qsort(numbers, 7, sizeof *numbers, compare);
  printf("%d %d\n", numbers[0], numbers[6]);
}

KEPT static void after(void) { CALLED("after"); }

KEPT static void jumps(void) {
  CALLED("jumps");
  const int value = setjmp(back);
  if (value == 0) sort(4);
  after();
  if (value == 5) give_up(&back, 6);
  printf("back with %d\n", value);
  after();
}

KEPT static void* thread(void* n) {
  CALLED("thread");
  if (plain(1) == 2) end_thread((char*)n + 1);
  return NULL;
}

KEPT static void processes(void) {
  CALLED("processes");
  fflush(stdout);
  int status = 0;
  pid_t child = vfork();
  if (child == 0) {
    execl("/bin/true", "true", NULL);
    _exit(127);
  }
  waitpid(child, &status, 0);
  printf("vfork %d\n", status);
  fflush(stdout);
  child = fork();
  if (child == 0) _exit(getppid() > 0 ? 7 : 0);
  waitpid(child, &status, 0);
  printf("fork %d\n", WEXITSTATUS(status));
  plain(0);
}

KEPT static void at_exit(void) {
  CALLED("at_exit");
  print_imported();
  print_calls();
}
KEPT static void last(int n) {
  CALLED("last");
  end_process(n + 3);
}

int main(void) {
  CALLED("main");
  atexit(at_exit);
  arguments_and_results();
  printf("%f %d %f %f\n", kept(0.5, 9), tail(4), tail_if(4), tail_if(5));
  each(4, called_back);
  printf("%d\n", hand_over(handed, 8));
  sort(0);
  jumps();
  pthread_t t;
  void* result;
  pthread_create(&t, NULL, thread, "abc");
  pthread_join(t, &result);
  printf("%s\n", (char*)result);
  processes();
  after();
  each(1, last);
  return 0;
}
