#include "copy_steps.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace prof {

namespace {

// Reads ULEB128 numbers. None at the end, and of a number that does not fit into 32 bits.
class Numbers {
 public:
  Numbers(const std::string& bytes, size_t at) : bytes_(bytes), at_(at) {}

  size_t position() const { return at_; }

  std::optional<uint32_t> next() {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 35 && at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      number |= uint64_t(byte & 0x7f) << shift;
      if (byte & 0x80) continue;
      return number <= UINT32_MAX ? std::optional(uint32_t(number)) : std::nullopt;
    }
    return {};
  }

 private:
  const std::string& bytes_;
  size_t at_;
};

// Nothing of a damaged section.
std::vector<prof_format::LoopEntry> read_loops(std::string_view bytes) {
  std::vector<prof_format::LoopEntry> loops;
  prof_format::LoopsHeader header;
  if (bytes.size() < sizeof header) return loops;
  std::memcpy(&header, bytes.data(), sizeof header);
  prof_format::LoopEntry entry;
  if (std::memcmp(header.magic, prof_format::kLoopsMagic, sizeof header.magic) != 0 || header.entry_size < sizeof entry)
    return loops;
  for (size_t at = sizeof header; header.entries-- && bytes.size() - at >= header.entry_size; at += header.entry_size) {
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    if (entry.size == 0 || (!loops.empty() && entry.copy < loops.back().copy)) return {};
    loops.push_back(entry);
  }
  return loops;
}

}  // namespace

CopySteps::CopySteps(const ElfFile& file)
    : map_(file.map()),
      loops_(read_loops(file.section(prof_format::kLoopsSection))),
      bytes_(file.section(prof_format::kStepsSection)) {
  prof_format::StepsHeader header;
  if (bytes_.size() < sizeof header) return;
  std::memcpy(&header, bytes_.data(), sizeof header);
  if (std::memcmp(header.magic, prof_format::kStepsMagic, sizeof header.magic) != 0 || header.entries != map_.size())
    return;
  Numbers numbers(bytes_, sizeof header);
  for (size_t i = 0; i < map_.size(); ++i) {
    const size_t start = numbers.position();
    const std::optional<uint32_t> steps = numbers.next();
    // Each takes two bytes at least, so a damaged number ends soon.
    for (uint32_t n = 0; steps && n < *steps; ++n)
      if (!numbers.next() || !numbers.next()) return;
    if (!steps) return;
    starts_.push_back(start);
  }
}

uint64_t CopySteps::first_time(uint64_t address) const {
  const auto after = std::ranges::upper_bound(loops_, address, {}, &prof_format::LoopEntry::copy);
  if (after == loops_.begin()) return address;
  const prof_format::LoopEntry& loop = *std::prev(after);
  const uint64_t offset = address - loop.copy;
  return offset / loop.size < loop.times ? loop.copy + offset % loop.size : address;
}

uint64_t CopySteps::original(uint64_t address) const {
  address = first_time(address);
  const auto after = std::upper_bound(map_.begin(), map_.end(), address,
                                      [](uint64_t a, const prof_format::MapEntry& e) { return a < e.copy; });
  if (after == map_.begin() || address - (after - 1)->copy >= (after - 1)->copy_size) return address;
  const prof_format::MapEntry& entry = *(after - 1);
  const auto index = size_t(after - 1 - map_.begin());
  if (index >= starts_.size() || entry.original_size == 0) return entry.original;
  const uint64_t offset = address - entry.copy;
  Numbers numbers(bytes_, starts_[index]);
  uint64_t from = 0, delta = 0, end = entry.original_size;  // what holds up to `end`, an offset in the original
  for (uint32_t left = numbers.next().value_or(0); left != 0; --left) {
    end = from + numbers.next().value_or(0);
    const uint64_t next_delta = delta + numbers.next().value_or(0);
    if (offset < end + next_delta) break;
    from = end;
    delta = next_delta;
    end = entry.original_size;
  }
  if (end == 0) return entry.original;
  // After the last instruction there may be a jump back to the original.
  return entry.original + std::min({offset - delta, end - 1, uint64_t(entry.original_size) - 1});
}

}  // namespace prof
