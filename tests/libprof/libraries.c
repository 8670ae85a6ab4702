// libraries LIBRARY...: calls the first functions of four libraries, of the first in a thread; main goes on meanwhile when a
// debugger has set `can_go_on`. Prints "calls first N".

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

volatile int can_go_on;
static void (*first[4])(void);

__attribute__((noipa)) void second_is_listed(void) {}
static void* in_thread(void* unused) {
  first[0]();
  return unused;
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  for (int i = 0; i < 4; i++) {
    void* library = dlopen(argv[i + 1], RTLD_NOW);
    if (!library) return 1;
    first[i] = (void (*)(void))dlsym(library, "first");
  }
  pthread_t thread;
  first[1]();
  pthread_create(&thread, NULL, in_thread, NULL);
  while (!can_go_on) {
  }
  first[2]();
  second_is_listed();
  pthread_join(thread, NULL);
  first[3]();
  printf("calls first 4\n");
}
