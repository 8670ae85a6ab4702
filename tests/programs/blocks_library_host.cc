// Loads libraries, unloads them and loads them again; with threads, children and ways out of all kinds.
//   blocks_library_host LIBRARY OTHER END
// OTHER is a library with a function that is called `other'. END: return; kill: by SIGKILL; exit: by _exit.

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct Library {
  void* handle;
  char* base;
  size_t size;
  long (*count_odd)(long);
  int (*may_throw)(int);
  int (*call_back)(int (*)(int), int);
  void (*jump_back)(jmp_buf*, int);
  pid_t (*fork_child)();
};

template <class F>
void find(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(handle, name));
  if (!function) std::abort();
}

int note_size(dl_phdr_info* info, size_t, void* library) {
  auto* l = static_cast<Library*>(library);
  if (info->dlpi_addr != ElfW(Addr)(l->base)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& h = info->dlpi_phdr[i];
    if (h.p_type == PT_LOAD) l->size = std::max(l->size, (h.p_vaddr + h.p_memsz + 4095) / 4096 * 4096);
  }
  return 1;
}

Library load(const char* path) {
  Library l = {};
  l.handle = dlopen(path, RTLD_NOW);
  if (!l.handle) {
    std::puts(dlerror());
    std::exit(9);
  }
  find(l.handle, "count_odd", l.count_odd);
  find(l.handle, "may_throw", l.may_throw);
  find(l.handle, "call_back", l.call_back);
  find(l.handle, "jump_back", l.jump_back);
  find(l.handle, "fork_child", l.fork_child);
  Dl_info info;
  dladdr(reinterpret_cast<void*>(l.count_odd), &info);
  l.base = static_cast<char*>(info.dli_fbase);
  dl_iterate_phdr(note_size, &l);
  return l;
}

int call_other(const char* path) {
  void* handle = dlopen(path, RTLD_NOW);
  int (*other)(int);
  find(handle, "other", other);
  const int result = other(5);
  dlclose(handle);
  return result;
}

void* run_thread(void* library) {
  static_cast<Library*>(library)->count_odd(100000);
  return nullptr;
}

void run_threads(Library& l) {
  pthread_t threads[4];
  for (pthread_t& t : threads) pthread_create(&t, nullptr, run_thread, &l);
  l.count_odd(50000);
  for (pthread_t& t : threads) pthread_join(t, nullptr);
}

int three_at_most(int n) {
  if (n == 3) throw std::runtime_error("three");
  return n;
}

int leave_all_ways(Library& l) {
  int sum = 0;
  for (int i = 1; i < 100; ++i) {
    try {
      sum += l.may_throw(i);
    } catch (const std::runtime_error&) {
      sum += 1000;
    }
  }
  try {
    sum += l.call_back(three_at_most, 3);
    sum += l.call_back(three_at_most, 30);
  } catch (const std::runtime_error&) {
    sum += 10000;
  }
  jmp_buf buffer;
  l.jump_back(&buffer, 5);
  if (setjmp(buffer) == 0) l.jump_back(&buffer, 50);
  return sum;
}

template <class Work>
int in_child(pid_t (*fork_it)(), Work work) {
  std::fflush(stdout);
  const pid_t child = fork_it();
  if (child == 0) std::exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

bool is_as_it_was(const char* memory, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (memory[i] != 'x') return false;
  return true;
}

}  // namespace

int main(int, char** argv) {
  Library l = load(argv[1]);
  run_threads(l);
  std::printf("%d\n", leave_all_ways(l));

  // Children: one that goes on with what is loaded, and one that loads it anew.
  std::printf("%d\n", in_child(l.fork_child, [&] { return int(l.count_odd(300)); }));
  std::printf("%d\n", in_child(l.fork_child, [&] {
    dlclose(l.handle);
    l = load(argv[1]);
    return in_child(l.fork_child, [&] { return int(l.count_odd(60)); }) + int(l.count_odd(90));
  }));
  const pid_t child = vfork();
  if (child == 0) {
    l.count_odd(40);
    _exit(0);
  }
  waitpid(child, nullptr, 0);

  // At one address, in turn with another one; and its parts are used while it is not there.
  for (int i = 0; i < 20; ++i) {
    dlclose(l.handle);
    std::printf("%d\n", call_other(argv[2]));
    if (i == 10) std::printf("%d\n", in_child(fork, [&] { return call_other(argv[2]); }));
    l = load(argv[1]);
    l.count_odd(10);
  }

  // Something else lies where it was.
  char* const before = l.base;
  const size_t size = l.size;
  dlclose(l.handle);
  void* const taken =
      mmap(before, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (taken != before) std::abort();
  std::memset(before, 'x', size);
  std::printf("%d\n", in_child(fork, [&] {
    const int found = call_other(argv[2]);
    return found * 2 + is_as_it_was(before, size);
  }));
  l = load(argv[1]);
  std::printf("%d\n", l.base != before);
  std::printf("%ld\n", l.count_odd(2000));
  std::printf("%d\n", in_child(l.fork_child, [&] { return int(l.count_odd(200)) * 2 + is_as_it_was(before, size); }));
  std::printf("%d\n", is_as_it_was(before, size));
  std::fflush(stdout);
  if (std::strcmp(argv[3], "kill") == 0) raise(SIGKILL);
  if (std::strcmp(argv[3], "exit") == 0) _exit(0);
  return 0;
}
