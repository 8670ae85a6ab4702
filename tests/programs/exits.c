// Every way to end: `exits HOW [NUMBER]`. Functions run at exit print what they do, so their order is compared too.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "calls.h"

KEPT static void first(void) {
  CALLED("first");
  puts("first");
}
KEPT static void second(void) {
  CALLED("second");
  puts("second");
}
KEPT static void quick(void) {
  CALLED("quick");
  puts("quick");
  print_calls();
}
KEPT __attribute__((constructor)) static void construct(void) {
  CALLED("construct");
  puts("constructor");
}
KEPT __attribute__((destructor)) static void destruct(void) {
  CALLED("destruct");
  puts("destructor");
  print_calls();
}
KEPT static void end(const char* how, int number) {
  CALLED("end");
  if (!strcmp(how, "exit")) exit(number);
  if (!strcmp(how, "quick_exit")) quick_exit(number);
  if (!strcmp(how, "return")) return;
  print_calls();
  if (!strcmp(how, "_exit")) _exit(number);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "trap")) __builtin_trap();
  if (!strcmp(how, "fault")) *(volatile int*)8 = number;
  if (!strcmp(how, "raise")) raise(number);
}

int main(int argc, char** argv) {
  CALLED("main");
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  atexit(first);
  atexit(second);
  at_quick_exit(quick);
  int number = argc > 2 ? atoi(argv[2]) : 0;
  if (argc > 1) end(argv[1], number);
  return number;
}
