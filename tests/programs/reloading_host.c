// reloading_host PLUGIN TIMES: threads call functions of the plugin while it is loaded, one after the other; each time it is
// unloaded again while they live on. Between two times it forks, with and without the plugin, and the children call it as well,
// or run another program. Prints "calls NAME N" for the plugin's functions, which the parent and the children have called.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kThreads = 3, kCalls = 20 };
static int (*volatile work)(int);
static atomic_long sum, *calls;  // in all processes
static pthread_barrier_t loaded, done;
static volatile int is_over;

static void call_work(void) {
  for (int i = 0; i < kCalls; ++i) {
    sum += work(i);
    ++*calls;
  }
}

static void* run(void* unused) {
  for (;;) {
    pthread_barrier_wait(&loaded);
    if (is_over) return unused;
    call_work();
    pthread_barrier_wait(&done);
  }
}

static void* load(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW);
  if (!plugin) printf("%s\n", dlerror()), exit(1);
  work = (int (*)(int))dlsym(plugin, "work");
  return plugin;
}

// Says what a child died of.
static void check_child(pid_t child, const char* what) {
  int status;
  if (waitpid(child, &status, 0) != child || status != 0) printf("%s: %x\n", what, status);
}

static void fork_with_plugin(void) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    call_work();
    exit(0);
  }
  check_child(child, "fork");
}

static void fork_and_load(const char* path) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dlclose(load(path));
    load(path);
    call_work();
    exit(0);
  }
  check_child(child, "fork and load");
}

static void fork_and_exec(void) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) execl("/bin/echo", "echo", "run by a child", (char*)0), _exit(9);
  check_child(child, "fork and exec");
  if (system("exit 4") != 4 << 8) printf("system\n");
}

int main(int argc, char** argv) {
  const int times = atoi(argv[2]);
  calls = mmap(0, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_barrier_init(&loaded, 0, kThreads + 1);
  pthread_barrier_init(&done, 0, kThreads + 1);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], 0, run, 0);
  for (int i = 0; i < times; ++i) {
    void* plugin = load(argv[1]);
    pthread_barrier_wait(&loaded);
    call_work();
    pthread_barrier_wait(&done);
    if (i % 5 == 0) fork_with_plugin();
    dlclose(plugin);
    if (i % 5 == 1) fork_and_exec();
    if (i % 5 == 2) fork_and_load(argv[1]);
  }
  is_over = 1;
  pthread_barrier_wait(&loaded);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], 0);
  fork_and_exec();
  printf("%ld\ncalls work %ld\ncalls add %ld\n", sum, *calls, 2 * *calls);
  return 3;
}
