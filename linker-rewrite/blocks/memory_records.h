// The records of a function with memory (profld --trace=memory): see memory_records.cc.

#ifndef LINKER_REWRITE_BLOCKS_MEMORY_RECORDS_H
#define LINKER_REWRITE_BLOCKS_MEMORY_RECORDS_H

#include "record_sites.h"

namespace profld {

// Nullopt if some block has no place for the record that it needs.
std::optional<FunctionRecords> place_memory_records(const RecordSites& sites);

}  // namespace profld

#endif
