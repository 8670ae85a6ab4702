// In the file a bin has 16 bits and the number of calls of an arc 32. gprof adds up records of the same addresses, so a
// greater number is split over several.

#include "gmon_writer.h"

#include <algorithm>
#include <cstddef>

#include "prof/read/error.h"

namespace prof {

namespace {

constexpr uint64_t kMaxTicksPerRecord = UINT16_MAX;
constexpr uint64_t kMaxCallsPerRecord = UINT32_MAX;
// Bytes of the records that great numbers need besides their first ones, which is enough for 10^17 calls; more come from
// damaged profiles.
constexpr uint64_t kMaxOfSplits = uint64_t(1) << 29;
constexpr size_t kDimensionSize = 15, kSizeOfArc = 21;

class GmonFile {
 public:
  explicit GmonFile(Output& out) : out_(out) {
    out_.text("gmon");
    number<uint32_t>(1);  // version
    out_.text(std::string(12, '\0'));
  }

  void histogram(const GmonHistogram& h) {
    const uint64_t most = h.bins.empty() ? 0 : *std::ranges::max_element(h.bins);
    count_splits(most / kMaxTicksPerRecord, h.bins.size() * sizeof(uint16_t));
    for (uint64_t done = 0; done == 0 || done < most; done += kMaxTicksPerRecord) {
      out_.byte(0);
      number<uint64_t>(h.low);
      number<uint64_t>(h.high);
      number<uint32_t>(uint32_t(h.bins.size()));
      number<uint32_t>(h.rate);
      std::string dimension = h.dimension;
      dimension.resize(kDimensionSize);
      out_.text(dimension);
      out_.byte(h.abbreviation);
      for (const uint64_t ticks : h.bins)
        number<uint16_t>(uint16_t(std::min(ticks - std::min(ticks, done), kMaxTicksPerRecord)));
    }
  }

  void arc(const GmonArc& arc) {
    count_splits(arc.calls / kMaxCallsPerRecord, kSizeOfArc);
    uint64_t calls = arc.calls;
    for (bool first = true; first || calls > 0; first = false) {
      const uint64_t now = std::min(calls, kMaxCallsPerRecord);
      calls -= now;
      out_.byte(1);
      number<uint64_t>(arc.from);
      number<uint64_t>(arc.to);
      number<uint32_t>(uint32_t(now));
    }
  }

  void blocks(const std::vector<GmonBlock>& blocks) {
    for (size_t i = 0; i < blocks.size();) {
      const size_t end = i + std::min<size_t>(blocks.size() - i, UINT32_MAX);
      out_.byte(2);
      number<uint32_t>(uint32_t(end - i));
      for (; i < end; ++i) {
        number<uint64_t>(blocks[i].address);
        number<uint64_t>(blocks[i].count);
      }
    }
  }

 private:
  // Before a number is written that needs so many more records, of `size' bytes or little more.
  void count_splits(uint64_t records, uint64_t size) {
    const uint64_t left = kMaxOfSplits - split_;
    if (records > left / std::max<uint64_t>(size, 1))
      throw Error(out_.name() + ": the numbers in the profile are too great for it");
    split_ += records * size;
  }
  template <class T>
  void number(T n) {
    char bytes[sizeof n];  // little-endian
    for (size_t i = 0; i < sizeof n; ++i) bytes[i] = char(n >> (8 * i));
    out_.text({bytes, sizeof n});
  }

  Output& out_;
  uint64_t split_ = 0;  // bytes
};

}  // namespace

void print_gmon(const Gmon& gmon, Output& out) {
  GmonFile file(out);
  for (const GmonHistogram& h : gmon.histograms) file.histogram(h);
  for (const GmonArc& arc : gmon.arcs) file.arc(arc);
  file.blocks(gmon.blocks);
}

}  // namespace prof
