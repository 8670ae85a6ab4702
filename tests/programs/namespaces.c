// namespaces LIBRARY TOGETHER IN_TURN: loads the library into so many namespaces (dlmopen) at once, and calls work in each,
// then into so many one after the other, and into its own. Prints what work returned each time, and how often it was called
// altogether.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static long calls;

static void use(void* library) {
  int (*work)(int) = (int (*)(int))dlsym(library, "work");
  for (int i = 0; i < 3; ++i, ++calls) printf("%d\n", work(i));
}

static void* load(const char* path) {
  void* library = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
  if (!library) printf("%s\n", dlerror()), exit(1);
  return library;
}

int main(int argc, char** argv) {
  void* together[16];
  const int at_once = atoi(argv[2]), in_turn = atoi(argv[3]);
  for (int i = 0; i < at_once; ++i) use(together[i] = load(argv[1]));
  for (int i = 0; i < at_once; ++i) use(together[i]);
  for (int i = 0; i < at_once; ++i) dlclose(together[i]);
  for (int i = 0; i < in_turn; ++i) {
    void* library = load(argv[1]);
    use(library);
    dlclose(library);
  }
  use(dlopen(argv[1], RTLD_NOW));
  printf("calls work %ld\ncalls deeper %ld\n", calls, 2 * calls);
  return 5;
}
