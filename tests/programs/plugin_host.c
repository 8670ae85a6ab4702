// plugin_host TIMES [fork] PLUGIN...: loads the plugins in turn, so often, calls run in each, and unloads it. With `fork' it
// then forks; the child, and afterwards the parent, do it TIMES times more. Prints "parent PID SUM elsewhere N", and the same for
// the child: N plugins were not where the first one was.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* first;
static int elsewhere;
static long sum;

static void use(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW);
  if (!plugin) {
    printf("%s\n", dlerror());
    exit(1);
  }
  int (*run)(int) = (int (*)(int))dlsym(plugin, "run");
  Dl_info info;
  dladdr((void*)run, &info);
  if (!first) first = info.dli_fbase;
  elsewhere += info.dli_fbase != first;
  sum += run(3);
  dlclose(plugin);
}

static void use_all(int times, char** paths) {
  for (int i = 0; i < times; ++i)
    for (char** path = paths; *path; ++path) use(*path);
}

static int say(const char* who) {
  printf("%s %d %ld elsewhere %d\n", who, getpid(), sum, elsewhere);
  return fflush(stdout);
}

int main(int argc, char** argv) {
  const int times = atoi(argv[1]), forks = argc > 2 && !strcmp(argv[2], "fork");
  char** paths = argv + 2 + forks;
  use_all(times, paths);
  if (forks) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      first = NULL;
      elsewhere = 0;
      use_all(times, paths);
      return say("child");
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) return 2;
    use_all(times, paths);
  }
  return say("parent");
}
