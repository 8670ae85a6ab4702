// overwritten: something runs wild over private memory that is not the program's: in every mapping above the heap that
// has no name, some pages long, the last page becomes a pattern without zeros. Then the program goes on. Prints its
// calls.

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEPT __attribute__((noipa))
static long leaf_calls, one_calls, two_calls;
KEPT static int leaf(int x) {
  leaf_calls++;
  return x + 1;
}
KEPT static int one(int x) {
  one_calls++;
  return leaf(x) + 1;
}
KEPT static int two(int x) {
  two_calls++;
  return one(x) + leaf(x);
}

static void run_wild(void) {
  FILE* maps = fopen("/proc/self/maps", "r");
  static char line[512], *starts[64];
  static unsigned long ends[64];
  int found = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long start, end, inode;
    char permissions[8], name[256] = "";
    if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %255s", &start, &end, permissions, &inode, name) < 4) continue;
    if (strcmp(permissions, "rw-p") || inode || *name || start < (unsigned long)sbrk(0) || end - start < 8192) continue;
    ends[found] = end;
    starts[found++] = (char*)start;
    if (found == 64) break;
  }
  if (maps) fclose(maps);
  for (int i = 0; i < found; i++) memset((char*)ends[i] - 4096, 0x5a, 4096);
}

int main(void) {
  alarm(60);
  two(1);
  run_wild();
  for (int i = 0; i < 1000; i++) i % 3 ? two(i) : one(i);
  printf("calls leaf %ld\ncalls one %ld\ncalls two %ld\ncalls main 1\n", leaf_calls, one_calls, two_calls);
  return 0;
}
