// A logger that prints the names of its callers, as the dynamic linker knows them. With -DPART=1 it is a library, with
// -DPART=2 the program for it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

#include "calls.h"

void log_it(const char* message);
void start_engine(int speed);
void ignite(int speed);
int work_in_library(void);

#if PART != 2
KEPT void log_it(const char* message) {
  CALLED("log_it");
  void* frames[20] = {__builtin_return_address(0)};
  Dl_info info;
  printf("%s:", message);
  printf(" [%s]", dladdr(frames[0], &info) && info.dli_sname ? info.dli_sname : "?");
#ifdef __GLIBC__
  int count = backtrace(frames, 20);
  char** lines = backtrace_symbols(frames, count);
  for (int i = 1; i < count; ++i) {  // "file(name+0x12) [0x123456]"
    char *name = strchr(lines[i], '(') + 1, *end = strpbrk(name, "+)");
    printf(" %.*s", (int)(end - name), name);
    if (!strncmp(name, "main+", 5)) break;
  }
  free(lines);
#endif
  printf("\n");
}

static volatile int sink;
KEPT void start_engine(int speed) {
  CALLED("start_engine");
  log_it("started");
  sink += speed;
}
void ignite(int speed) __attribute__((weak, alias("start_engine")));
KEPT static void unnamed(void) {
  CALLED("unnamed");
  log_it("static");
  ++sink;
}
KEPT void by_pointer(void (*f)(int)) {
  CALLED("by_pointer");
  f(3);
  ++sink;
}
KEPT int work_in_library(void) {
  CALLED("work_in_library");
  start_engine(1);
  ignite(2);
  unnamed();
  by_pointer(start_engine);
  return 1 + sink;
}
#endif

#if PART == 1
void print_calls_of_library(void) { print_calls(); }
#else
KEPT void look_up(const char* name, void* expected) {
  CALLED("look_up");
  Dl_info info;
  void* found = dlsym(RTLD_DEFAULT, name);
  const int named = dladdr(expected, &info);
  printf("%s is %d %d %d %s\n", name, found == expected, named, info.dli_saddr == expected, info.dli_sname);
}
#if PART == 2
void print_calls_of_library(void);
#endif
int main(void) {
  CALLED("main");
  work_in_library();
  log_it("main");
  look_up("log_it", (void*)log_it);
  look_up("start_engine", (void*)start_engine);
  look_up("ignite", (void*)ignite);
  look_up("work_in_library", (void*)work_in_library);
  print_calls();
#if PART == 2
  print_calls_of_library();
#endif
  return 0;
}
#endif
