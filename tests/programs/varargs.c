// Variable arguments: %al says how many vector registers are in use; both register and stack arguments.
#include <stdarg.h>
#include <string.h>

#include "calls.h"

KEPT static double sum(int count, ...) {
  CALLED("sum");
  va_list list;
  va_start(list, count);
  double total = 0;
  for (int i = 0; i < count; ++i) total += i % 2 ? (double)va_arg(list, long) : va_arg(list, double);
  va_end(list);
  return total;
}

KEPT static int format(char* out, size_t size, const char* text, ...) {
  CALLED("format");
  va_list list;
  va_start(list, text);
  int length = vsnprintf(out, size, text, list);
  va_end(list);
  return length;
}

KEPT static long ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
  CALLED("ten");
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

int main(void) {
  CALLED("main");
  char text[200];
  int length = format(text, sizeof text, "%d %s %.3f %ld %c %Lg %.1f", 42, "words", 2.5, 1L << 40, 'x', 1.25L, 9.5);
  printf("%s %d %f %.2f\n", text, length, sum(4, 1.5, 2L, 3.25, 4L), sum(10, .5, 1L, .25, 2L, .125, 3L, 1., 4L, 2., 5L));
  printf("%f %g %s %ld\n", 1.0 / 3, 1e100, "end", ten(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  print_calls();
  return 0;
}
