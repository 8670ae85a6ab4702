#include "code_places.h"

#include <elf.h>

#include <algorithm>

namespace prof {

CodePlaces::CodePlaces(FunctionTable& functions, uint32_t object) : functions_(functions), object_(object) {
  for (const ElfFile& file : functions.objects()[object].files()) {
    for (const Symbol& symbol : file.symbols())
      if (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) starts_.push_back(symbol.address);
    const std::vector<uint64_t> unwind_starts = file.unwind_starts();
    starts_.insert(starts_.end(), unwind_starts.begin(), unwind_starts.end());
  }
  std::ranges::sort(starts_);
  starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
}

bool CodePlaces::is_code(uint64_t address) const {
  const Object& object = functions_.objects()[object_];
  return object.symbols().find(address) || (!object.files().empty() && object.files()[0].offset_of(address));
}

std::optional<uint32_t> CodePlaces::function_at(uint64_t address) const {
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), address);
  if (next == starts_.begin() || !is_code(address)) return {};
  const uint64_t start = *std::prev(next);
  const uint64_t entry = functions_.objects()[object_].entry_of_original(start).value_or(start);
  return functions_.at(object_, entry);
}

uint64_t CodePlaces::next_start(uint64_t unit_number, uint64_t unit) const {
  if (unit_number >= UINT64_MAX / unit) return UINT64_MAX;
  const auto next = std::lower_bound(starts_.begin(), starts_.end(), (unit_number + 1) * unit);
  return next == starts_.end() ? UINT64_MAX : *next / unit;
}

}  // namespace prof
