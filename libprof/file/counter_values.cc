#include "counter_values.h"

#include "file.h"
#include "libprof/data/heavy.h"
#include "libprof/format/blocks.h"
#include "libprof/kernel/syscall.h"

namespace libprof {

using prof_format::Counters;

namespace {

constexpr uint64_t kMayMove = 1, kFixed = 2;  // MREMAP_*
constexpr uint64_t kAdviseDoFork = 11;

}  // namespace

Block take_values(uint64_t size) { return take_blocks(size / PROF_BLOCK_SIZE); }

bool list_values(Block module, Block values, uint64_t size) {
  const Block record = take_blocks(sizeof(Counters) / PROF_BLOCK_SIZE);
  if (record == 0) return false;
  auto* header = at<Header>(process->base, 0);
  auto* counters = at<Counters>(process->base, record);
  counters->module = module;
  counters->values = values;
  counters->count = size / sizeof(uint64_t);
  lock(&process->lock);
  counters->next = header->first_counters;
  ordered();
  header->first_counters = record;
  unlock(&process->lock);
  return true;
}

bool map_twice(char* pages, char* memory, uint64_t size) {
  // The profile is nothing that children inherit. So this has to be possible, or a child would find no memory there.
  if (advise(memory, size, kAdviseDoFork) != 0) return false;
  const int64_t result = syscall6(__NR_mremap, as_word(pages), 0, size, kMayMove | kFixed, as_word(memory), 0);
  return result == int64_t(as_word(memory)) && advise(memory, size, kAdviseDoFork) == 0;
}

}  // namespace libprof
