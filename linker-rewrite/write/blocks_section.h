// The section .prof.blocks: see libprof/format/blocks.h.

#ifndef LINKER_REWRITE_WRITE_BLOCKS_SECTION_H
#define LINKER_REWRITE_WRITE_BLOCKS_SECTION_H

#include "linker-rewrite/base/bytes.h"
#include "linker-rewrite/blocks/block_counters.h"

namespace profld {

Bytes encode_blocks(const std::vector<CountedFunction>& functions, uint32_t counters);

}  // namespace profld

#endif
