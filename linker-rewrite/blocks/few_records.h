// The records of a function without memory (profld --trace): see few_records.cc.

#ifndef LINKER_REWRITE_BLOCKS_FEW_RECORDS_H
#define LINKER_REWRITE_BLOCKS_FEW_RECORDS_H

#include "record_nodes.h"

namespace profld {

// Nullopt if some block has no place for the record that it needs.
std::optional<FunctionRecords> place_few_records(const RecordSites& sites);

}  // namespace profld

#endif
