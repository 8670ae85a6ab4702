#include "trace_memory.h"

#include <algorithm>

#include "varint.h"

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

using namespace prof_format;

namespace {

constexpr size_t kMaxModules = 1 << 14;

}  // namespace

void TraceMemory::map(uint32_t process, std::string_view bytes) {
  TraceBytes all(bytes);
  const auto head = all.read<TraceModule>();
  TraceModuleFile file;
  file.path = all.take(head.path_size);
  file.build_id = all.take(head.build_id_size);
  file.bias = head.bias;
  const auto is_same = [&](const TraceModuleFile& m) {
    return m.path == file.path && m.build_id == file.build_id && m.bias == file.bias;
  };
  auto at = std::find_if(modules_.begin(), modules_.end(), is_same);
  if (at == modules_.end() && modules_.size() == kMaxModules) throw DamagedTrace("it has more files than programs map");
  if (at == modules_.end()) at = modules_.insert(at, std::move(file));
  spaces_.map(process, {head.start, head.end, head.offset, uint32_t(at - modules_.begin())});
  if (head.bias != kUnknownBias) biases_[{process, head.number}] = head.bias;
}

bool TraceMemory::add_code(uint32_t process, std::string_view bytes) {
  TraceBytes all(bytes);
  bool is_other = false;
  while (!all.at_end()) {
    const auto head = all.read<TraceCode>();
    is_other |= code_.set(process, head.address, all.take(head.size)) == CodeMemory::Change::replaced;
  }
  return is_other;
}

void TraceMemory::fork(uint32_t child, uint32_t parent) {
  spaces_.fork(child, parent);
  code_.fork(child, parent);
}

void TraceMemory::exec(uint32_t process) {
  spaces_.exec(process);
  code_.forget(process);
}

bool TraceMemory::find(uint32_t process, uint64_t address, TracePlace& to) const {
  const AddressSpaces::Mapping* mapping = spaces_.find(process, address);
  if (!mapping) return false;
  to = {mapping->module, mapping->offset + (address - mapping->start), address};
  return true;
}

uint64_t TraceMemory::bias_of(uint32_t process, uint32_t number) const {
  const auto at = biases_.find({process, number});
  return at == biases_.end() ? 0 : at->second;
}

}  // namespace prof
