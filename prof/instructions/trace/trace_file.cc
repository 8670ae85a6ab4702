#include "trace_file.h"

#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

#include "varint.h"

namespace prof {

using namespace prof_format;

TraceFile::TraceFile(const std::string& path) : path_(path), file_(open_to_read(path)) {
  struct stat status;
  if (file_.get() < 0 || fstat(file_.get(), &status) != 0) throw Error(path + ": " + system_error(errno));
  if (!S_ISREG(status.st_mode)) throw Error(path + ": is not a regular file, so it is no trace");
  read_header();
  find_chunks(uint64_t(status.st_size));
}

void TraceFile::read_header() {
  const uint64_t size = read_at(file_.get(), &header_, sizeof header_, 0, path_);
  if (size < sizeof header_ || !std::equal(std::begin(kTraceMagic), std::end(kTraceMagic), header_.magic))
    throw Error(path_ + ": is not a trace; prof trace writes traces, and so do programs rewritten by profld --trace");
  if (header_.version < kOldestTraceVersion || header_.version > kTraceVersion || header_.byte_order != kTraceByteOrder)
    throw Error(path_ + ": is not a trace of version " + std::to_string(kOldestTraceVersion) + " to " +
                std::to_string(kTraceVersion) + "; read it with the prof that wrote it, or record it again");
  if (header_.header_size < sizeof header_ || header_.header_size % 8)
    throw Error(path_ + ": the trace is damaged: its header has no size");
}

void TraceFile::find_chunks(uint64_t size) {
  uint64_t at = header_.header_size;
  TraceChunkPlace place = {};
  while (at < size) {
    place.offset = at + sizeof place.head;
    const bool has_head = read_at(file_.get(), &place.head, sizeof place.head, at, path_) == sizeof place.head;
    is_torn_ =
        !has_head || place.head.magic != kChunkMagic || size < place.offset || place.head.stored > size - place.offset;
    if (!has_head) place.head = {};
    if (is_torn_) break;
    if (place.head.kind == kChunkEnd) {
      read_end(place);
    } else {
      chunks_.push_back(place);
    }
    at = place.offset + (place.head.stored + 7) / 8 * 8;
  }
  order_windows(place.head);
}

// `last`: the head of the last chunk, which may be torn.
void TraceFile::order_windows(const TraceChunk& last) {
  const bool has_reused_windows = header_.origin == kTraceInlined && header_.version > kOldestTraceVersion;
  if (!has_reused_windows && !(header_.flags & kTraceRing)) return;
  const auto is_window = [](const TraceChunk& head) { return head.kind == kChunkBlocks; };
  // Everything else stays in front.
  std::stable_sort(chunks_.begin(), chunks_.end(), [&](const TraceChunkPlace& a, const TraceChunkPlace& b) {
    return std::make_tuple(is_window(a.head), a.head.sequence) < std::make_tuple(is_window(b.head), b.head.sequence);
  });
  if (!has_reused_windows) return;
  std::erase_if(chunks_, [&](const TraceChunkPlace& c) { return is_window(c.head) && c.head.sequence == 0; });
  const auto again =
      std::unique(chunks_.begin(), chunks_.end(), [&](const TraceChunkPlace& a, const TraceChunkPlace& b) {
        return is_window(a.head) && is_window(b.head) && a.head.sequence == b.head.sequence;
      });
  chunks_.erase(again, chunks_.end());
  // What was being written when the program was killed is still in its window.
  if (is_torn_ && last.magic == kChunkMagic && is_window(last) &&
      std::ranges::any_of(
          chunks_, [&](const TraceChunkPlace& c) { return is_window(c.head) && c.head.sequence == last.sequence; }))
    is_torn_ = false;
}

bool TraceFile::is_unchanged(const TraceChunkPlace& window) const {
  TraceChunk head{};
  return read_at(file_.get(), &head, sizeof head, window.offset - sizeof head, path_) == sizeof head &&
         head.sequence == window.head.sequence;
}

void TraceFile::read_end(const TraceChunkPlace& chunk) {
  TraceEnd end{};
  if (chunk.head.encoding == kTraceRaw && chunk.head.stored >= sizeof end &&
      read_at(file_.get(), &end, sizeof end, chunk.offset, path_) == sizeof end)
    end_ = end;
}

std::string TraceFile::some_bytes(const TraceChunkPlace& chunk, uint64_t from, uint64_t size) const {
  if (from >= chunk.head.stored) return "";
  std::string bytes(size_t(std::min(size, chunk.head.stored - from)), '\0');
  bytes.resize(read_at(file_.get(), bytes.data(), bytes.size(), chunk.offset + from, path_));
  return bytes;
}

std::string TraceFile::bytes(const TraceChunkPlace& chunk) const {
  if (chunk.head.encoding != kTraceRaw && chunk.head.size > kMaxChunkBytes)
    throw DamagedTrace("a chunk is larger than it can be");
  std::string stored = some_bytes(chunk, 0, chunk.head.stored);
  if (stored.size() < chunk.head.stored) throw DamagedTrace("the file became shorter while it was read");
  if (chunk.head.encoding == kTraceRaw) return stored;
  if (chunk.head.encoding != kTraceZstd) throw DamagedTrace("a chunk is packed in a way that is not known");
  std::string bytes(size_t(chunk.head.size), '\0');
  const size_t size = ZSTD_decompress(bytes.data(), bytes.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) || size != bytes.size()) throw DamagedTrace("a compressed part cannot be unpacked");
  return bytes;
}

}  // namespace prof
