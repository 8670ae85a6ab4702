// Exceptions that end the program: out of a noexcept function, out of main, out of a destructor while another one is
// under way, through a frame without unwind tables, against an exception specification, rethrown from nowhere. Messages
// and status are the C++ library's.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "calls.h"

extern "C" int through(int (*function)(int), int n);
// Hand-written, without unwind tables: nothing passes.
__asm__(
    ".text\n.type through,@function\nthrough: push %rbx\n mov %rdi,%rax\n mov %esi,%edi\n call *%rax\n pop %rbx\n ret\n"
    ".size through,.-through\n");

KEPT static void clean(int n) {
  CALLED("clean(int)");
  std::printf("clean %d\n", n);
}
struct Guard {
  int n;
  ~Guard() { clean(n); }
};
KEPT static void throws_in_destructor(bool* done) {
  CALLED("throws_in_destructor(bool*)");
  *done = true;
  throw std::logic_error("from a destructor");
}
struct Thrower {
  bool* done;
  ~Thrower() noexcept(false) { throws_in_destructor(done); }
};
KEPT static int throws(int n) {
  CALLED("throws(int)");
  Guard guard{n};
  throw std::runtime_error("no way on");
}
KEPT static int not_through_here(int n) noexcept {
  CALLED("not_through_here(int)");
  Guard guard{n + 1};
  return throws(n);
}
KEPT static int destructor(int n) {
  CALLED("destructor(int)");
  bool done = false;
  try {
    Thrower thrower{&done};
    if (n == 0) return throws(n);
  } catch (const std::logic_error& e) {
    std::printf("%s %d\n", e.what(), done);
  }
  return 0;
}
KEPT static void ends() {
  CALLED("ends()");
  try {
    if (std::current_exception()) throw;
  } catch (const std::exception& e) {
    std::printf("ends with %s\n", e.what());
  } catch (...) {
    std::printf("ends with something\n");
  }
  print_calls();
}

static std::terminate_handler library;

int main(int argc, char** argv) {
  CALLED("main");
  const char* mode = argc > 1 ? argv[1] : "";
  library = std::set_terminate([] {
    ends();
    library();
  });
  try {
    Guard guard{100};
    if (!std::strcmp(mode, "noexcept")) not_through_here(1);
    if (!std::strcmp(mode, "caught")) throws(2);
    if (!std::strcmp(mode, "destructor")) destructor(1), destructor(0);
    if (!std::strcmp(mode, "no_tables")) through(throws, 3);
    if (!std::strcmp(mode, "nothing")) throw;
    if (!std::strcmp(mode, "uncaught")) throw 5;
  } catch (const std::exception& e) {
    std::printf("caught %s\n", e.what());
  }
  print_calls();
  return 3;
}
