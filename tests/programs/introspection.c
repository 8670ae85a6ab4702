// What a program can see of itself must not change: backtrace, dladdr, its headers in memory, auxiliary vector, brk.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "calls.h"

KEPT int depth_here(void) {
  CALLED("depth_here");
  void* frames[100];
  int depth = backtrace(frames, 100);
  __asm__ volatile("" : "+r"(depth));
  return depth;
}
KEPT int deeper(int n) {
  CALLED("deeper");
  int depth = n ? deeper(n - 1) : depth_here();
  __asm__ volatile("" : "+r"(depth));
  return depth;
}
KEPT static int count_objects(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;  // not counted: the copy has one object more, libprof.so
  int* executable = data;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_LOAD && start <= (uintptr_t)&deeper && (uintptr_t)&deeper < start + header->p_memsz)
      *executable += header->p_flags & PF_X ? 1 : 0;
  }
  return 0;
}

int main(int argc, char** argv) {
  CALLED("main");
  int flat = depth_here(), executable = 0;
  printf("argc %d %s\n", argc, argv[argc - 1]);
  printf("depth %d\n", deeper(10) - flat);
  const ElfW(Phdr)* headers = (const ElfW(Phdr)*)getauxval(AT_PHDR);
  unsigned long count = getauxval(AT_PHNUM), loads = 0, phdr = 0;
  uintptr_t bias = 0;
  for (unsigned long i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_LOAD) ++loads;
    if (headers[i].p_type == PT_PHDR) bias = (uintptr_t)headers - headers[i].p_vaddr, ++phdr;
  }
  for (unsigned long i = 0; i < count; ++i)
    if (headers[i].p_type == PT_NOTE) {
      const ElfW(Nhdr)* note = (const ElfW(Nhdr)*)(bias + headers[i].p_vaddr);
      if (phdr && note->n_namesz > 32) printf("bad note\n");
    }
  dl_iterate_phdr(count_objects, &executable);
  printf("%d %d\n", loads > 1, executable);
  Dl_info info;
  if (dladdr((void*)(uintptr_t)&deeper, &info)) printf("dladdr %d\n", info.dli_saddr == (void*)(uintptr_t)&deeper || !info.dli_sname);
  char* room = malloc(1 << 20);
  memset(room, 1, 1 << 20);
  char* heap = sbrk(100000);
  memset(heap, 2, 100000);
  printf("brk %d %d\n", heap[99999], room[5]);
  char path[400] = "";
  printf("exe %d\n", readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  print_calls();
  return 0;
}
