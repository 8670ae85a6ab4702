#include "inheritance.h"

#include "libprof/kernel/syscall.h"

namespace libprof {

namespace {

Bequest bequest;

// The first page of the profile once more, to be read only: this mapping is the one that children inherit.
const Header* header_page;
const Header* parents_page;

void unmap_page(const Header* page) {
  if (page) unmap_memory(const_cast<Header*>(page), kPage);
}

}  // namespace

void bequeath(char* base, uint64_t size) { bequest = {base, size}; }

Bequest bequeathed() { return bequest; }

void forget_bequest() { bequest = {nullptr, 0}; }

void bequeath_header(int64_t fd) {
  unmap_page(parents_page);
  parents_page = header_page;
  const int64_t at = syscall6(__NR_mmap, 0, kPage, kProtectRead, kMapShared, uint64_t(fd), 0);
  header_page = is_error(at) ? nullptr : reinterpret_cast<const Header*>(at);
}

void leave_header_of_parent() {
  unmap_page(parents_page);
  parents_page = nullptr;
}

bool parent_records(bool otherwise) {
  if (!header_page) return otherwise;
  // The parent may have ended, and its profile may have been truncated: ask the kernel before touching the page.
  const int64_t result = advise(const_cast<Header*>(header_page), kPage, kAdvisePopulateRead);
  if (result != 0 && result != kErrorInvalid) return otherwise;
  return load(&header_page->control) & prof_format::kRecording;
}

}  // namespace libprof
