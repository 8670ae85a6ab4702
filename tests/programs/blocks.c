/* Control flow of all kinds, a statement on each line, so that the count of a line is that of its busiest block. */

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf place;
static volatile int handled;

static int fibonacci(int n) {
  if (n < 2) return n;
  return fibonacci(n - 1) + fibonacci(n - 2);
}

static int classify(int c) {
  int sum = 0;
  switch (c % 9) {
    case 0:
      sum = 1;
      break;
    case 1:
    case 2:
      sum += 20;
      /* fall through */
    case 3:
      sum += 3;
      break;
    case 5:
      sum = 5;
      break;
    case 6:
      return 6;
    case 7:
      sum = 77;
      break;
    default:
      sum = -1;
  }
  return sum;
}

static void jump(int depth) {
  if (depth == 0) longjmp(place, 1);
  jump(depth - 1);
  handled = -1000;
}

static void handler(int number) {
  (void)number;
  for (int i = 0; i < 3; i++) handled++;
}

static double mean(const double* values, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) {
    if (values[i] != values[i]) continue;
    if (values[i] > 3.5)
      sum += values[i];
    else
      sum -= values[i];
  }
  return sum / count;
}

static int loops(int n) {
  int total = 0;
  for (int i = 0; i < n; i++) {
    int j = i;
    while (j > 0) {
      if (j & 1)
        total += 3;
      else if (j & 2)
        total -= 1;
      j /= 2;
    }
    do {
      total ^= j;
      j++;
    } while (j < 4);
    if (i % 7 == 3) continue;
    if (total > 100000) break;
    total++;
  }
  return total;
}

static void leave(int status) {
  if (status != 0) {
    puts("leaving");
    exit(status);
  }
  puts("staying");
}

int main(int argc, char** argv) {
  const double values[] = {1, 2, 3, 4, 5, 6};
  int sum = 0;
  for (int i = 0; i < 1000; i++) sum += classify(i);
  printf("%d %d\n", sum, fibonacci(15));
  printf("%d %.3f\n", loops(500), mean(values, 6));
  signal(SIGUSR1, handler);
  for (int i = 0; i < 5; i++) raise(SIGUSR1);
  printf("%d\n", handled);
  for (int i = 0; i < 4; i++) {
    if (setjmp(place)) /* two ways in */
      continue;
    jump(i);
  }
  fflush(stdout);
  for (int i = 0; i < 3; i++) {
    pid_t child = fork(); /* two ways in */
    if (child == 0) {
      printf("child %d\n", loops(10 * i));
      exit(0);
    }
    waitpid(child, NULL, 0);
  }
  leave(argc > 1 && strcmp(argv[1], "stay") == 0 ? 0 : 7);
  return 3;
}
