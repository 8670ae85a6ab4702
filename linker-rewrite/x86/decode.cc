#include "decode.h"

#include <bit>
#include <utility>

#include "decode_cache.h"
#include "encoding.h"

namespace profld {

std::optional<size_t> Code::index(OldAddr a) const {
  if (!range.contains(a) || starts.empty()) return std::nullopt;
  const uint64_t offset = a - range.start, bit = uint64_t(1) << offset % 64;
  const Starts& s = starts[offset / 64];
  if (!(s.bits() & bit)) return std::nullopt;
  return s.before + size_t(std::popcount(s.bits() & (bit - 1)));
}

size_t Code::covering(OldAddr a) const {
  const uint64_t offset = a - range.start, bit = uint64_t(1) << offset % 64;
  const Starts& s = starts[offset / 64];
  return s.before + size_t(std::popcount(s.bits() & (bit | (bit - 1)))) - 1;
}

bool Code::is_target(OldAddr a) const {
  if (!range.contains(a) || insns.empty()) return false;
  const size_t i = covering(a);
  const uint64_t into = a - address(insns[i]);
  if (into == 0) return true;
  if (i == 0 || insns[i].flow != Flow::next) return false;
  const uint8_t first = bytes[insns[i].offset];
  if (!opcode::is_legacy_prefix(first) && !opcode::is_rex(first)) return false;
  const CachedInsn* cached = DecodeCache::of_this_thread().find(bytes_of(insns[i]));
  return cached && into <= cached->prefixes;
}

uint32_t length_of_type_data(const Image& image, OldAddr entry) {
  constexpr uint8_t kDataLength = 6, kBeforeDistance = 4, kWord = 8;
  const ByteView bytes = image.bytes_from(entry);
  constexpr uint32_t kLength = kShortJumpLength + kDataLength;
  if (bytes.size() < kLength || !is_short_jump_over(bytes, kDataLength)) return 0;
  const OldAddr data = entry + uint64_t(int64_t(Reader(bytes.subspan(kBeforeDistance), "code").read<int32_t>()));
  const bool is_data = data.value % kWord == 0 && image.bytes(data, kWord) && !image.is_code(data);
  return is_data ? kLength : 0;
}

uint32_t length_kept_at_entry(const Image& image, OldAddr entry) {
  if (starts_with_endbr64(image.bytes_from(entry))) return kEndbr64Length;
  return length_of_type_data(image, entry);
}

Expected<Code, Reason> decode(const Image& image, OldRange range) {
  auto bytes = image.bytes(range.start, range.size());
  if (!bytes || range.size() > (uint64_t(1) << 31)) return Reason(ReasonCode::not_in_file);
  thread_local std::vector<Insn> found;  // kept for its memory: `insns` then has no more than it needs
  found.clear();
  DecodeCache& cache = DecodeCache::of_this_thread();
  uint64_t offset = 0;
  if (const uint32_t length = length_of_type_data(image, range.start); length != 0 && length <= bytes->size()) {
    found.push_back({.length = uint8_t(length)});
    offset = length;
  }
  while (offset < bytes->size()) {
    const Insn* known = cache.find_insn(bytes->subspan(offset));
    if (!known) {
      const CachedInsn* cached = cache.find(bytes->subspan(offset));
      const auto unusable = cached ? cached->unusable : std::nullopt;
      return Reason(unusable.value_or(ReasonCode::no_instruction), range.start + offset);
    }
    Insn& insn = found.emplace_back(*known);
    insn.offset = uint32_t(offset);
    offset += insn.length;
  }
  std::vector<Code::Starts> starts(range.size() / 64 + 1);
  for (const Insn& insn : found) starts[insn.offset / 64].in[insn.offset / 32 % 2] |= uint32_t(1) << insn.offset % 32;
  uint32_t before = 0;
  for (Code::Starts& s : starts) {
    s.before = before;
    before += uint32_t(std::popcount(s.bits()));
  }
  return Code{range, *bytes, found, std::move(starts)};
}

bool takes_address(const Code& code, const Insn& insn) {
  return insn.rip_relative && is_lea(code.bytes_of(insn), insn.field);
}

}  // namespace profld
