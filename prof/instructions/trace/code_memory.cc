#include "code_memory.h"

namespace prof {

CodeMemory::Change CodeMemory::set(uint32_t process, uint64_t address, std::string_view bytes) {
  Change change = Change::none;
  Pages& pages = processes_[process];
  Page* page = nullptr;
  for (size_t i = 0; i < bytes.size(); ++i, ++address) {
    const size_t at = address % kPage;
    if (!page || at == 0) page = &pages[address / kPage];
    if (page->is_known[at] && page->bytes[at] == bytes[i]) continue;
    if (page->is_known[at]) {
      change = Change::replaced;
    } else if (change == Change::none) {
      change = Change::added;
    }
    page->is_known[at] = true;
    page->bytes[at] = bytes[i];
  }
  return change;
}

std::string CodeMemory::bytes(uint32_t process, uint64_t address, size_t size) const {
  std::string bytes;
  const auto pages = processes_.find(process);
  if (pages == processes_.end()) return bytes;
  for (; bytes.size() < size; ++address) {
    const auto page = pages->second.find(address / kPage);
    if (page == pages->second.end() || !page->second.is_known[address % kPage]) break;
    bytes += page->second.bytes[address % kPage];
  }
  return bytes;
}

void CodeMemory::fork(uint32_t child, uint32_t parent) {
  const auto pages = processes_.find(parent);
  if (pages != processes_.end() && child != parent) processes_[child] = Pages(pages->second);
}

}  // namespace prof
