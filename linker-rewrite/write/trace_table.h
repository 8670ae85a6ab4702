// The second page of the trace segment and what follows it (libprof/format/trace_segment.h).

#ifndef LINKER_REWRITE_WRITE_TRACE_TABLE_H
#define LINKER_REWRITE_WRITE_TRACE_TABLE_H

#include "linker-rewrite/blocks/block_counters.h"
#include "linker-rewrite/elf/image.h"

namespace profld {

// `word_size`: bytes of the words in the windows of the trace.
Bytes encode_trace_program(const Image& image, const std::vector<TracedBlock>& blocks, uint32_t word_size);

}  // namespace profld

#endif
