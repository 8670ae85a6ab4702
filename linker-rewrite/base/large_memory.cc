// operator new of profld and prof: what is large lies in huge pages.
//
// The first touch of each page of 4 KiB is a page fault. On a virtual machine that can take 11 us. There, what prof run
// does after the end of a large program, whose counters and tables take megabytes, takes two thirds of the time if each
// 2 MiB are one fault. Where there are no huge pages, madvise changes nothing.

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr size_t kHugePage = 2 << 20, kLarge = kHugePage / 2;

void* allocate(size_t size) {
  if (size < kLarge || size > SIZE_MAX / 2) return std::malloc(size ? size : 1);
  const size_t whole = (size + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = std::aligned_alloc(kHugePage, whole);
  if (memory) madvise(memory, whole, MADV_HUGEPAGE);
  return memory;
}

}  // namespace

void* operator new(size_t size) {
  for (;;) {
    if (void* memory = allocate(size)) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

// As the library's own, which a sanitizer replaces.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
