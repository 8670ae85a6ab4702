#include "file_info.h"

#include <algorithm>
#include <cstring>

#include "linker-rewrite/text/count.h"

namespace prof::gprof {

namespace {

constexpr std::string_view kMagic = "gmon";
constexpr uint32_t kVersion44 = 0x00051879;  // of 4.4BSD's format

// The number at an offset, or 0 after the end.
template <class T>
T number_at(std::string_view bytes, uint64_t offset) {
  T number = 0;
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof number)
    std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

// Two addresses, the size of both and the samples; 4.4BSD has a version, a rate and three words more. Then arcs.
RecordCounts records_of_bsd(std::string_view bytes) {
  constexpr uint64_t kOldHeader = 20, kArc = 24;
  const uint64_t rest = bytes.size() - std::min<uint64_t>(bytes.size(), number_at<uint32_t>(bytes, 16));
  RecordCounts counts;
  counts.histograms = bytes.size() >= kOldHeader;
  counts.version = number_at<uint32_t>(bytes, kOldHeader) == kVersion44 ? kVersion44 : 0;
  counts.arcs = rest / kArc;
  return counts;
}

}  // namespace

RecordCounts records_in(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return records_of_bsd(bytes);
  constexpr uint64_t kHeader = 20, kHistogram = 40, kArc = 20, kBlock = 16;
  RecordCounts counts;
  counts.version = number_at<uint32_t>(bytes, 4);
  for (uint64_t at = kHeader; at < bytes.size();) {
    const char kind = bytes[at++];
    if (kind == 0) {
      ++counts.histograms;
      at += kHistogram + 2 * uint64_t(number_at<uint32_t>(bytes, at + 16));
    } else if (kind == 1) {
      ++counts.arcs;
      at += kArc;
    } else if (kind == 2) {
      ++counts.blocks;
      at += 4 + kBlock * number_at<uint32_t>(bytes, at);
    } else {
      break;
    }
  }
  return counts;
}

std::string file_info(const std::string& path, const RecordCounts& counts) {
  const auto line = [](uint64_t count, const char* kind) {
    return "\t" + prof_text::count_of(count, std::string(kind) + " record") + "\n";
  };
  return "File `" + path + "' (version " + std::to_string(counts.version) + ") contains:\n" +
         line(counts.histograms, "histogram") + line(counts.arcs, "call-graph") +
         line(counts.blocks, "basic-block count");
}

}  // namespace prof::gprof
