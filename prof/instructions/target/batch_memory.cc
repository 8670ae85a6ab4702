#include "batch_memory.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tracee.h"

namespace prof::target {

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
