// Where the basic blocks of the functions that move write their records (profld --trace), which block each number in a
// record means, and the table that says so: see trace_records.cc.

#ifndef LINKER_REWRITE_BLOCKS_TRACE_RECORDS_H
#define LINKER_REWRITE_BLOCKS_TRACE_RECORDS_H

#include "block_counters.h"
#include "linker-rewrite/elf/image.h"

namespace profld {

// As place_block_counters: of all groups that move. `has_memory`: the records have what tells which memory is touched.
BlockCounters place_trace_records(const Program& program, const std::vector<OldAddr>& old_entries,
                                  bool has_memory = false);

// The second page of the trace segment and what follows it (libprof/format/trace.h).
Bytes encode_trace_program(const Image& image, const BlockCounters& blocks);

}  // namespace profld

#endif
