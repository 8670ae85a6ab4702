#include "packed_records.h"

#include <vector>

#include "libprof/format/trace.h"
#include "varint.h"

namespace prof {

using namespace prof_format;

namespace {

uint64_t difference_of(TraceBytes& bytes, uint32_t form) {
  switch (form) {
    case 0:
      return 0;
    case 1:
      return uint64_t(int64_t(bytes.read<int8_t>()));
    case 2:
      return uint64_t(int64_t(bytes.read<int16_t>()));
    default:
      return bytes.read<uint64_t>();
  }
}

}  // namespace

std::string unpacked_records(std::string_view packed, uint64_t size) {
  if (size > kMostChunkBytes) throw DamagedTrace("a chunk is larger than it can be");
  TraceBytes bytes(packed);
  std::vector<uint64_t> last(kPackedSlots + kMostRecordValues);
  std::vector<uint32_t> words(kPackedSlots);
  uint32_t before = 0;  // the slot of the word before
  std::string records;
  records.reserve(size_t(size));
  const auto append = [&](const auto& value) { records.append(reinterpret_cast<const char*>(&value), sizeof value); };
  while (records.size() < size) {
    auto control = bytes.read<uint8_t>();
    if (control & 1) words[before] = bytes.read<uint32_t>();
    const uint32_t word = words[before];
    if (!is_whole_record(word)) throw DamagedTrace("a packed record is none");
    append(word);
    before = packed_slot(word);
    unsigned shift = 1;
    for (uint32_t i = 0; i < (word >> kRecordValuesShift & kMostRecordValues); ++i, shift += 2) {
      if (shift > kLastPackedShift) {
        control = bytes.read<uint8_t>();
        shift = 0;
      }
      append(last[before + i] += difference_of(bytes, control >> shift & 3));
    }
  }
  if (records.size() != size) throw DamagedTrace("a chunk cannot be unpacked");
  return records;
}

}  // namespace prof
