#include "address_spaces.h"

namespace prof {

AddressSpaces::Process& AddressSpaces::process(uint32_t number) {
  Process& p = processes_[number];
  if (!p.mappings) p.mappings = std::make_shared<Mappings>();
  return p;
}

void AddressSpaces::map(uint32_t number, const Mapping& mapping) {
  if (mapping.start >= mapping.end) return;
  Process& p = process(number);
  if (p.mappings.use_count() > 1) p.mappings = std::make_shared<Mappings>(*p.mappings);
  Mappings& all = *p.mappings;
  auto at = all.lower_bound(mapping.start);
  if (at != all.begin() && std::prev(at)->second.end > mapping.start) --at;
  while (at != all.end() && at->first < mapping.end) {
    const Mapping old = at->second;
    at = all.erase(at);
    if (old.start < mapping.start) all[old.start] = {old.start, mapping.start, old.offset, old.module};
    if (old.end > mapping.end) {
      all[mapping.end] = {mapping.end, old.end, old.offset + (mapping.end - old.start), old.module};
      break;
    }
  }
  all[mapping.start] = mapping;
}

void AddressSpaces::fork(uint32_t number, uint32_t parent) {
  std::shared_ptr<Mappings> mappings = process(parent).mappings;
  processes_[number] = {std::move(mappings), 1};
}

void AddressSpaces::exec(uint32_t number) { processes_[number] = {std::make_shared<Mappings>(), 1}; }

void AddressSpaces::begin_thread(uint32_t number) { ++process(number).threads; }

void AddressSpaces::end_thread(uint32_t number) {
  const auto at = processes_.find(number);
  if (at != processes_.end() && --at->second.threads == 0) processes_.erase(at);
}

const AddressSpaces::Mapping* AddressSpaces::find(uint32_t number, uint64_t address) const {
  const auto p = processes_.find(number);
  if (p == processes_.end()) return nullptr;
  const Mappings& all = *p->second.mappings;
  auto after = all.upper_bound(address);
  if (after == all.begin()) return nullptr;
  const Mapping& mapping = std::prev(after)->second;
  return address < mapping.end ? &mapping : nullptr;
}

}  // namespace prof
