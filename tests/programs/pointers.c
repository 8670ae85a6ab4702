// Functions whose addresses are taken, kept, compared, and called back by libc.
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

KEPT static int ascending(const void* a, const void* b) {
  CALLED("ascending");
  return (*(const int*)a > *(const int*)b) - (*(const int*)a < *(const int*)b);
}
KEPT static int descending(const void* a, const void* b) {
  CALLED("descending");
  return ascending(b, a);
}
KEPT static int plus(int a, int b) {
  CALLED("plus");
  return a + b;
}
KEPT static int minus(int a, int b) {
  CALLED("minus");
  return a - b;
}
KEPT static int times(int a, int b) {
  CALLED("times");
  return a * b;
}
static int (*const operations[])(int, int) = {plus, minus, times, plus};
static int (*chosen)(int, int) = minus;

struct Shape {
  const struct Methods* methods;
  int size;
};
struct Methods {
  int (*area)(const struct Shape*);
  const char* (*name)(void);
};
KEPT static int square_area(const struct Shape* shape) {
  CALLED("square_area");
  return shape->size * shape->size;
}
KEPT static const char* square_name(void) {
  CALLED("square_name");
  return "square";
}
KEPT static int line_area(const struct Shape* shape) {
  CALLED("line_area");
  return 0 * shape->size;
}
KEPT static const char* line_name(void) {
  CALLED("line_name");
  return "line";
}
static const struct Methods square = {square_area, square_name}, line = {line_area, line_name};

static int visits;
KEPT static void visit(const void* node, VISIT which, int depth) {
  CALLED("visit");
  (void)node;
  visits += (int)which * 3 + depth;
}

int main(void) {
  CALLED("main");
  int numbers[1000];
  unsigned seed = 1;
  for (int i = 0; i < 1000; ++i) numbers[i] = (int)((seed = seed * 1103515245 + 12345) >> 8 & 0xffff);
  qsort(numbers, 1000, sizeof *numbers, ascending);
  int low = numbers[0], key = numbers[500];
  int* found = bsearch(&key, numbers, 1000, sizeof *numbers, ascending);
  qsort(numbers, 1000, sizeof *numbers, descending);
  int sum = *found - key;
  for (int i = 0; i < 100; ++i) sum += operations[i % 4](i, 3) * (operations[i % 4] == plus) + chosen(i, 1);
  chosen = operations[2];
  sum += chosen(3, 4) + (chosen == times) + (chosen == minus);
  struct Shape shapes[] = {{&square, 3}, {&line, 9}, {&square, 5}};
  for (int i = 0; i < 3; ++i) sum += shapes[i].methods->area(&shapes[i]) * (int)strlen(shapes[i].methods->name());
  void* root = 0;
  for (int i = 0; i < 20; ++i) tsearch(&numbers[i * 7], &root, ascending);
  twalk(root, visit);
  printf("%d %d %d %d\n", low, numbers[0], sum, visits);
  print_calls();
  return 0;
}
