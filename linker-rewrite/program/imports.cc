#include "imports.h"

#include <algorithm>

#include "linker-rewrite/x86/encoding.h"

namespace profld {

std::optional<OldAddr> got_entry_of_stub(const Image& image, OldAddr stub) {
  const std::optional<int64_t> distance = distance_to_got_entry(image.bytes_from(stub));
  return distance ? std::optional(stub + uint64_t(*distance)) : std::nullopt;
}

const Relocation* relocation_of_got_entry(const Image& image, OldAddr got_entry) {
  const auto r = std::ranges::find(image.relocations(), got_entry, &Relocation::where);
  return r != image.relocations().end() ? &*r : nullptr;
}

const Symbol* symbol_of_got_entry(const Image& image, OldAddr got_entry) {
  const Relocation* r = relocation_of_got_entry(image, got_entry);
  return r && r->symbol < image.dynamic_symbols().size() ? &image.dynamic_symbols()[r->symbol] : nullptr;
}

}  // namespace profld
