// LLVM's XRay: the entries and exits of functions are patched to call a handler, and back again.
#include <xray/xray_interface.h>

#include "calls.h"

static int events[2];
[[clang::xray_never_instrument]] static void count_event(int32_t, XRayEntryType type) {
  CALLED("count_event(int, XRayEntryType)");
  ++events[type != XRayEntryType::ENTRY];
}
[[clang::xray_always_instrument]] KEPT static int thrice(int x) {
  __asm__ volatile("" ::: "memory");
  return x * 3 + 1;
}
[[clang::xray_always_instrument]] KEPT static int sum_up(int n) {
  if (n == 0) return 0;
  int sum = sum_up(n - 1);
  for (int i = 0; i < n; ++i) sum += thrice(i);
  return sum;
}

[[clang::xray_never_instrument]] KEPT static void run(const char* when) {
  CALLED("run(char const*)");
  const int sum = sum_up(10);
  printf("%s: %d, %d entries, %d exits\n", when, sum, events[0], events[1]);
}

[[clang::xray_never_instrument]] int main() {
  CALLED("main");
  __xray_init();
  __xray_set_handler(count_event);
  run("before");
  if (__xray_patch() != XRayPatchingStatus::SUCCESS) puts("cannot be patched");
  run("patched");
  if (__xray_unpatch() != XRayPatchingStatus::SUCCESS) puts("cannot be unpatched");
  run("after");
  print_calls();
}
