// killed FILE: calls functions with hooks for ever, and keeps the numbers of calls in FILE, which is mapped shared: three
// 64-bit words for f, g, h, each counted by its function when it has been entered.

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hooked.h"

int f(int), g(int), h(int);
HOOKED(f);
HOOKED(g);
HOOKED(h);
static volatile uint64_t* calls;

int h_body(int x) {
  calls[2]++;
  return x;
}
int g_body(int x) {
  calls[1]++;
  return h(x) + h(x);
}
int f_body(int x) {
  calls[0]++;
  int sum = 0;
  for (int i = 0; i < 10; i++) sum += i % 2 ? g(x) : h(x);
  return sum;
}

int main(int argc, char** argv) {
  int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
  if (fd < 0 || ftruncate(fd, 4096)) return 1;
  calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (calls == MAP_FAILED) return 1;
  for (;;) f(1);
}
