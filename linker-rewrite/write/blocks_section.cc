#include "blocks_section.h"

#include <cstring>

#include "libprof/format/blocks.h"
#include "linker-rewrite/base/refusal.h"

namespace profld {

namespace {

int32_t offset_of(OldAddr at, OldAddr entry) {
  const int64_t offset = int64_t(at.value - entry.value);
  if (offset != int32_t(offset)) throw refusal(Refusal::data_too_far);
  return int32_t(offset);
}

}  // namespace

Bytes encode_blocks(const std::vector<CountedFunction>& functions, uint32_t counters) {
  prof_format::BlocksHeader header{};
  std::memcpy(header.magic, prof_format::kBlocksMagic, sizeof header.magic);
  header.function_size = sizeof(prof_format::BlockFunction);
  header.block_size = sizeof(prof_format::BlockEntry);
  header.functions = functions.size();
  for (const CountedFunction& f : functions) header.blocks += f.blocks.size();
  header.counters = counters;

  Bytes out;
  out.reserve(sizeof header + header.functions * header.function_size + header.blocks * header.block_size);
  append(out, header);
  for (const CountedFunction& f : functions)
    append(out, prof_format::BlockFunction{f.entry.value, uint32_t(f.blocks.size()), f.places});
  for (const CountedFunction& f : functions)
    for (const CountedBlock& b : f.blocks)
      append(out, prof_format::BlockEntry{offset_of(b.range.start, f.entry), uint32_t(b.range.size()), b.from, b.to,
                                          b.counter});
  return out;
}

}  // namespace profld
