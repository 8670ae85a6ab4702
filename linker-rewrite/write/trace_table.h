// The second page of the trace segment and what follows it (libprof/format/trace_segment.h).

#ifndef LINKER_REWRITE_WRITE_TRACE_TABLE_H
#define LINKER_REWRITE_WRITE_TRACE_TABLE_H

#include "linker-rewrite/blocks/block_counters.h"
#include "linker-rewrite/elf/image.h"

namespace profld {

Bytes encode_trace_program(const Image& image, const BlockCounters& blocks);

}  // namespace profld

#endif
