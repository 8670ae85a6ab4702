// The bytes of traces, as tests put them together, whole or damaged.

#ifndef TESTS_UNIT_INSTRUCTIONS_TRACE_BYTES_H
#define TESTS_UNIT_INSTRUCTIONS_TRACE_BYTES_H

#include <algorithm>
#include <iterator>
#include <string>

#include "libprof/format/trace.h"

namespace prof_test {

template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline prof_format::TraceHeader trace_header(uint32_t origin, uint32_t flags) {
  prof_format::TraceHeader header{};
  std::copy(std::begin(prof_format::kTraceMagic), std::end(prof_format::kTraceMagic), header.magic);
  header.version = prof_format::kTraceVersion;
  header.byte_order = prof_format::kTraceByteOrder;
  header.header_size = sizeof header;
  header.origin = origin;
  header.flags = flags;
  return header;
}

// Appends a chunk that is not packed, with what else `head` says.
inline void add_chunk(std::string& trace, prof_format::TraceChunk head, const std::string& payload) {
  head.magic = prof_format::kChunkMagic;
  head.stored = payload.size();
  if (head.encoding == prof_format::kTraceRaw) head.size = head.stored;
  trace += bytes_of(head) + payload;
  trace.resize((trace.size() + 7) / 8 * 8);
}

}  // namespace prof_test

#endif
