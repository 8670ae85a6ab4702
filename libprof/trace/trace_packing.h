// Packs the records of a window of a trace with values: see format/trace.h, which says how.

#ifndef LIBPROF_TRACE_PACKING_H
#define LIBPROF_TRACE_PACKING_H

#include <stdint.h>

#include "libprof/format/trace.h"

namespace libprof {

// What is needed meanwhile.
struct PackingTables {
  uint64_t values[prof_format::kPackedSlots + prof_format::kMaxRecordValues];
  uint32_t words[prof_format::kPackedSlots];
};

// Bytes that `size` bytes of records may become, and those after them that may be overwritten.
constexpr uint64_t most_packed(uint64_t size) { return size + size / sizeof(uint32_t) + 2 * sizeof(uint64_t); }

// Packs those from the address `start` up to `end`. `to`: room for most_packed(end - start) bytes. Returns how many they
// became; 0 if some place is not filled.
uint64_t pack_records(PackingTables* tables, uint64_t start, uint64_t end, uint8_t* to);

}  // namespace libprof

#endif
