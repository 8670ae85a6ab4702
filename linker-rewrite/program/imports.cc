#include "imports.h"

#include <algorithm>

#include "linker-rewrite/x86/encoding.h"

namespace profld {

std::optional<OldAddr> slot_of_stub(const Image& image, OldAddr stub) {
  const std::optional<int64_t> distance = distance_to_slot(image.bytes_from(stub));
  return distance ? std::optional(stub + uint64_t(*distance)) : std::nullopt;
}

const Relocation* relocation_of_slot(const Image& image, OldAddr slot) {
  const auto r = std::ranges::find(image.relocations(), slot, &Relocation::where);
  return r != image.relocations().end() ? &*r : nullptr;
}

const Symbol* symbol_of_slot(const Image& image, OldAddr slot) {
  const Relocation* r = relocation_of_slot(image, slot);
  return r && r->symbol < image.dynamic_symbols().size() ? &image.dynamic_symbols()[r->symbol] : nullptr;
}

}  // namespace profld
