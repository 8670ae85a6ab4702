// Counters of basic blocks, added up over threads and processes, and what follows from them.

#ifndef PROF_MODEL_BLOCK_SUMS_H
#define PROF_MODEL_BLOCK_SUMS_H

#include <cstdint>
#include <map>
#include <vector>

#include "block_counts.h"
#include "functions.h"
#include "prof/read/profile.h"

namespace prof {

class BlockSums {
 public:
  void add(const Profile& profile, FunctionTable& functions);

  // By object and address.
  std::vector<BlockCount> finish(const FunctionTable& functions) const;

 private:
  std::map<uint32_t, std::vector<uint64_t>> sums_;  // by object
};

}  // namespace prof

#endif
