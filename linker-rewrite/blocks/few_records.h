// The records of a function without memory (profld --trace): in as few blocks as possible, and on ways between them, see
// few_records.cc.

#ifndef LINKER_REWRITE_BLOCKS_FEW_RECORDS_H
#define LINKER_REWRITE_BLOCKS_FEW_RECORDS_H

#include "record_sites.h"

namespace profld {

// Where a function has its records, by part, and its blocks, by the numbers in these.
struct FunctionRecords {
  std::vector<std::vector<CounterPlace>> of_part;
  std::vector<std::vector<EdgeRecord>> edges;
  std::vector<TracedBlock> blocks;
};

// Nullopt if some block has no place for the record that it needs.
std::optional<FunctionRecords> place_few_records(const RecordSites& sites);

}  // namespace profld

#endif
