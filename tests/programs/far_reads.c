/* Functions whose bytes are summed up, in the large code model: by an instruction that has the whole address in it, and by a
   function that is called through a register, too. */
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

NOINLINE int loaded(int x) { return x * 7 + 3; }
NOINLINE int passed(int x) { return x * 7 + 5; }

NOINLINE int sum(const unsigned char* bytes) {
  int s = 0;
  for (int i = 0; i < 8; i++) s = s * 31 + bytes[i];
  return s;
}
NOINLINE int sum_loaded(void) {
  unsigned char bytes[8];
  memcpy(bytes, (void*)loaded, sizeof bytes);
  return sum(bytes);
}

int main(void) {
  printf("%d %d %d %d\n", loaded(2), passed(3), sum_loaded(), sum((void*)passed));
  printf("calls sum 2\ncalls sum_loaded 1\n");
  return 0;
}
