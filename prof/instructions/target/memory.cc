#include "memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "tracee.h"

namespace prof::target {

namespace {

constexpr uint64_t kMapType = 0xf;  // of the flags of mmap
constexpr uint64_t kMaxHeap = uint64_t(1) << 40;

}  // namespace

bool Mappings::is_private(uint64_t address) const {
  return std::none_of(shared_.begin(), shared_.end(),
                      [address](const Range& range) { return address >= range.begin && address < range.end; });
}

bool Mappings::is_code(uint64_t address) const {
  return std::any_of(code_.begin(), code_.end(),
                     [address](const Range& range) { return address >= range.begin && address < range.end; });
}

bool Mappings::has_code(uint64_t begin, uint64_t size) const {
  return std::any_of(code_.begin(), code_.end(), [begin, size](const Range& range) {
    return begin < range.end && (begin >= range.begin || range.begin - begin < size);
  });
}

void Mappings::look(pid_t thread) {
  if (!is_stale_) return;
  shared_.clear();
  code_.clear();
  const std::string maps = file_of_process(thread, "maps");
  read_maps(maps);
  if (maps.empty()) shared_.push_back({0, ~uint64_t(0)});  // nothing is known
  is_stale_ = false;
}

void Mappings::on_call(const user_regs_struct& before) {
  if (!leaves(before)) is_stale_ = true;
}

// Calls that programs make often, where they make nothing shared, and neither make code of memory nor other memory of
// code.
bool Mappings::leaves(const user_regs_struct& before) const {
  switch (before.rax) {
    case SYS_mmap:
      return (before.r10 & kMapType) == MAP_PRIVATE && !(before.rdx & PROT_EXEC) && !has_code(before.rdi, before.rsi);
    case SYS_mprotect:
      return !(before.rdx & PROT_EXEC) && !has_code(before.rdi, before.rsi);
    case SYS_munmap:
      return !has_code(before.rdi, before.rsi);
    case SYS_brk:  // memory above was taken, or is new
      return !has_code(before.rdi, kMaxHeap);
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_readv:
    case SYS_writev:
    case SYS_open:
    case SYS_openat:
    case SYS_close:
    case SYS_stat:
    case SYS_lstat:
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_access:
    case SYS_faccessat:
    case SYS_readlink:
    case SYS_lseek:
    case SYS_getdents64:
    case SYS_fcntl:
    case SYS_poll:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_rt_sigreturn:
    case SYS_futex:
    case SYS_getpid:
    case SYS_gettid:
    case SYS_getuid:
    case SYS_clock_gettime:
    case SYS_clock_nanosleep:
    case SYS_nanosleep:
    case SYS_getxattr:
    case SYS_lgetxattr:
    case SYS_socket:
    case SYS_connect:
    case SYS_sendto:
    case SYS_recvfrom:
    case SYS_wait4:
      return true;
    default:
      return false;
  }
}

// Lines that begin as "7f0000-8f0000 rw-s".
void Mappings::read_maps(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    Range range;
    const auto begin = std::from_chars(line.data(), line.data() + line.size(), range.begin, 16);
    if (begin.ec != std::errc() || begin.ptr == line.data() + line.size()) continue;
    const auto end = std::from_chars(begin.ptr + 1, line.data() + line.size(), range.end, 16);
    const size_t rights = size_t(end.ptr - line.data()) + 1;
    if (end.ec != std::errc() || rights + 4 > line.size()) continue;
    if (line[rights + 2] == 'x') code_.push_back(range);
    if (line[rights + 3] != 'p') shared_.push_back(range);
  }
}

namespace {

constexpr uint64_t kMaxAddress = uint64_t(1) << 47;  // what is above is not the program's, or needs care
constexpr size_t kMaxPieces = 64;                    // to a system call

}  // namespace

void BatchMemory::begin(pid_t thread, const Mappings& mappings, bool has_data) {
  ++batch_;
  thread_ = thread;
  mappings_ = &mappings;
  has_data_ = has_data;
}

void BatchMemory::finish() {
  for (const size_t i : with_news_) hand_back(pages_[i]);
  with_news_.clear();
}

BatchMemory::Page* BatchMemory::find(uint64_t number) {
  const size_t slot = (number ^ number >> 6) % kPages;
  Page& page = pages_[slot];
  if (page.batch == batch_ && page.number == number) return &page;
  if (number >= kMaxAddress / kPage) return nullptr;
  if (page.batch == batch_ && page.has_news) {
    hand_back(page);
    std::erase(with_news_, slot);
  }
  page.batch = 0;
  iovec here = {page.bytes.data(), kPage}, there = {reinterpret_cast<void*>(number * kPage), kPage};
  if (process_vm_readv(thread_, &here, 1, &there, 1, 0) != ssize_t(kPage)) return nullptr;
  page.number = number;
  page.batch = batch_;
  page.is_private = has_data_ && mappings_->is_private(number * kPage);
  page.is_code = mappings_->is_code(number * kPage);
  page.is_writable = page.has_news = false;
  page.news.fill(0);
  return &page;
}

bool BatchMemory::read(uint64_t address, void* to, size_t size) {
  while (size != 0) {
    const Page* const page = find(address / kPage);
    if (!page || !page->is_private) return false;
    const size_t at = address % kPage, piece = std::min(size, kPage - at);
    std::memcpy(to, page->bytes.data() + at, piece);
    to = static_cast<uint8_t*>(to) + piece;
    address += piece;
    size -= piece;
  }
  return true;
}

bool BatchMemory::write(uint64_t address, const void* from, size_t size) {
  const size_t at = address % kPage;
  if (at + size > kPage) return false;  // half of it might be written, and then the other half fail
  Page* const page = find(address / kPage);
  if (!page || !page->is_private) return false;
  if (!page->is_writable) {
    iovec here = {const_cast<void*>(from), size}, there = {reinterpret_cast<void*>(address), size};
    if (process_vm_writev(thread_, &here, 1, &there, 1, 0) != ssize_t(size)) return false;
    page->is_writable = true;
  } else {
    if (!page->has_news) with_news_.push_back(size_t(page - pages_.data()));
    page->has_news = true;
    for (size_t i = at; i < at + size; ++i) page->news[i / 64] |= uint64_t(1) << i % 64;
  }
  std::memcpy(page->bytes.data() + at, from, size);
  return true;
}

size_t BatchMemory::read_code(uint64_t address, void* to, size_t size) {
  size_t got = 0;
  while (got < size) {
    const uint64_t from = address + got;
    const Page* const page = find(from / kPage);
    if (!page || !page->is_code) break;
    const size_t at = from % kPage, piece = std::min(size - got, kPage - at);
    std::memcpy(static_cast<uint8_t*>(to) + got, page->bytes.data() + at, piece);
    got += piece;
  }
  return got;
}

// Byte by byte where it has to be, in as few system calls as can be.
void BatchMemory::hand_back(Page& page) {
  iovec here[kMaxPieces], there[kMaxPieces];
  size_t pieces = 0, all = 0;
  const auto write = [&] {
    if (pieces == 0) return;
    if (process_vm_writev(thread_, static_cast<iovec*>(here), pieces, static_cast<iovec*>(there), pieces, 0) !=
        ssize_t(all)) {
      for (size_t i = 0; i < pieces; ++i)
        write_memory(thread_, uint64_t(there[i].iov_base), {static_cast<char*>(here[i].iov_base), here[i].iov_len});
    }
    pieces = all = 0;
  };
  const auto is_new = [&](size_t i) { return (page.news[i / 64] >> i % 64 & 1) != 0; };
  for (size_t i = 0; i < kPage;) {
    if (i % 64 == 0 && page.news[i / 64] == 0) {
      i += 64;
      continue;
    }
    if (!is_new(i)) {
      ++i;
      continue;
    }
    const size_t begin = i;
    while (i < kPage && is_new(i)) ++i;
    here[pieces] = {page.bytes.data() + begin, i - begin};
    there[pieces] = {reinterpret_cast<void*>(page.number * kPage + begin), i - begin};
    all += i - begin;
    if (++pieces == kMaxPieces) write();
  }
  write();
  page.has_news = false;
  page.news.fill(0);
}

}  // namespace prof::target
