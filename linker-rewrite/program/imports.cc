#include "imports.h"

#include <algorithm>

namespace profld {

// [endbr64] [bnd] jmp *slot(%rip)
std::optional<OldAddr> slot_of_stub(const Image& image, OldAddr stub) {
  const ByteView b = image.bytes_from(stub);
  uint64_t at = 0;
  if (b.size() >= 16 && b[0] == 0xf3 && b[1] == 0x0f && b[2] == 0x1e && b[3] == 0xfa) at += 4;
  if (b.size() >= 16 && b[at] == 0xf2) ++at;
  if (b.size() < 16 || b[at] != 0xff || b[at + 1] != 0x25) return std::nullopt;
  const int32_t distance = Reader(b.subspan(at + 2, 4), "code").read<int32_t>();
  return stub + at + 6 + uint64_t(int64_t(distance));
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
