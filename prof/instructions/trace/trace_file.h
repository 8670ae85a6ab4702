// The file of a trace, as chunks (libprof/format/trace.h). Nothing in it is believed.
//
// It may still grow: what counts is what was there when it was opened.

#ifndef PROF_INSTRUCTIONS_TRACE_TRACE_FILE_H
#define PROF_INSTRUCTIONS_TRACE_TRACE_FILE_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libprof/format/trace.h"
#include "prof/read/file.h"

namespace prof {

struct TraceChunkPlace {
  prof_format::TraceChunk head;
  uint64_t offset = 0;  // in the file, of its bytes
};

class TraceFile {
 public:
  // Throws Error if the file cannot be read or is no trace.
  explicit TraceFile(const std::string& path);

  const std::string& path() const { return path_; }
  const prof_format::TraceHeader& header() const { return header_; }

  // Those that are whole, in the order in which they are to be read: as they stand in the file, but windows of blocks
  // after all others and by their sequence, each once.
  const std::vector<TraceChunkPlace>& chunks() const { return chunks_; }

  // How the program ended; none: the trace has no end, or bytes in front of it are damaged.
  const std::optional<prof_format::TraceEnd>& end() const { return end_; }
  // Something after the last whole chunk is no chunk, or not a whole one.
  bool is_torn() const { return is_torn_; }

  // The bytes of a chunk that is not of blocks, unpacked. Throws DamagedTrace if they cannot be, and Error.
  std::string bytes(const TraceChunkPlace& chunk) const;

  // False: the program has begun the window anew. Then what was read of it is not to be believed.
  bool is_unchanged(const TraceChunkPlace& window) const;

  // Some of the bytes of a raw chunk, as many as `size` if they are there.
  std::string some_bytes(const TraceChunkPlace& chunk, uint64_t from, uint64_t size) const;

 private:
  void read_header();
  void find_chunks(uint64_t size);
  void order_windows(const prof_format::TraceChunk& last);
  void read_end(const TraceChunkPlace& chunk);

  std::string path_;
  Descriptor file_;
  prof_format::TraceHeader header_ = {};
  std::vector<TraceChunkPlace> chunks_;
  std::optional<prof_format::TraceEnd> end_;
  bool is_torn_ = false;
};

}  // namespace prof

#endif
