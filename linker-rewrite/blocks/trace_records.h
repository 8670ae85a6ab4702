// Where the basic blocks of the functions that move write their records (profld --trace), and which block each number in a
// record means: see trace_records.cc.

#ifndef LINKER_REWRITE_BLOCKS_TRACE_RECORDS_H
#define LINKER_REWRITE_BLOCKS_TRACE_RECORDS_H

#include "block_counters.h"

namespace profld {

// As place_block_counters: of all groups that move. `has_memory`: the records have what tells which memory is touched.
BlockCounters place_trace_records(const Program& program, const std::vector<OldAddr>& old_entries,
                                  bool has_memory = false);

}  // namespace profld

#endif
