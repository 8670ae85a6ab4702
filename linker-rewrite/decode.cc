#include "decode.h"

#include <algorithm>
#include <cstdio>

#include "shapes.h"

namespace profld {

namespace {

std::string at(const char* what, OldAddr a) {
  char text[96];
  std::snprintf(text, sizeof text, "%s at 0x%llx", what, static_cast<unsigned long long>(a.value));
  return text;
}

}  // namespace

std::optional<size_t> Code::index(OldAddr a) const {
  if (!range.contains(a)) return std::nullopt;
  uint32_t offset = uint32_t(a - range.start);
  auto it = std::ranges::lower_bound(insns, offset, {}, &Insn::offset);
  if (it == insns.end() || it->offset != offset) return std::nullopt;
  return size_t(it - insns.begin());
}

size_t Code::covering(OldAddr a) const {
  auto after = std::ranges::upper_bound(insns, uint32_t(a - range.start), {}, &Insn::offset);
  return size_t(after - insns.begin()) - 1;
}

bool Code::is_target(OldAddr a) const {
  if (!range.contains(a) || insns.empty()) return false;
  const size_t i = covering(a);
  const uint64_t into = a - address(insns[i]);
  if (into == 0) return true;
  if (i == 0 || insns[i].flow != Flow::next) return false;
  const Shape* shape = Shapes::of_this_thread().find(bytes.subspan(insns[i].offset, insns[i].length));
  return shape && into <= shape->prefixes;
}

std::optional<Code> decode(const Image& image, OldRange range, std::string* why) {
  auto bytes = image.bytes(range.start, range.size());
  if (!bytes || range.size() > (uint64_t(1) << 31)) {
    *why = "its bytes are not in the file";
    return std::nullopt;
  }
  thread_local std::vector<Insn> found;  // kept for its memory: `insns` then has no more than it needs
  found.clear();
  Shapes& shapes = Shapes::of_this_thread();
  for (uint64_t offset = 0; offset < bytes->size();) {
    const Insn* known = shapes.find_insn(bytes->subspan(offset));
    if (!known) {
      const Shape* shape = shapes.find(bytes->subspan(offset));
      *why = at(shape ? shape->unusable : "bytes that are no instruction", range.start + offset);
      return std::nullopt;
    }
    Insn& insn = found.emplace_back(*known);
    insn.offset = uint32_t(offset);
    offset += insn.length;
  }
  return Code{range, *bytes, found};
}

}  // namespace profld
