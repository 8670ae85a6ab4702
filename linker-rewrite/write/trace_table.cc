#include "trace_table.h"

#include "libprof/format/trace.h"
#include "libprof/format/trace_segment.h"

namespace profld {

namespace {

prof_format::TraceOperand operand_of(const TracedAccess& access) {
  static_assert(TracedAccess::kNone == prof_format::kNoValue);
  return {.instruction = access.instruction,
          .size = access.size,
          .flags = access.flags,
          .form = access.form,
          .base = access.base,
          .index = access.index,
          .segment = access.segment,
          .count = access.count,
          .addend = access.addend};
}

}  // namespace

Bytes encode_trace_program(const Image& image, const BlockCounters& counters) {
  const std::vector<TracedBlock>& blocks = counters.traced;
  prof_format::TraceBlocks header{};
  uint64_t ways = 0;
  header.blocks = blocks.size();
  for (const TracedBlock& b : blocks) {
    header.code_size += b.range.size();
    header.operands += b.accesses.size();
    ways += b.next.size();
  }
  header.block_size = sizeof(prof_format::TraceBlock);
  header.operand_size = sizeof(prof_format::TraceOperand);
  prof_format::TraceProgram program{};
  program.table_size = sizeof header + header.blocks * header.block_size + header.operands * header.operand_size +
                       ways * sizeof(uint32_t) + header.code_size;
  program.word_size = counters.record_size;
  program.has_memory = counters.has_memory;

  Bytes out;
  out.reserve(sizeof program + program.table_size);
  append(out, program);
  append(out, header);
  uint64_t code = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const TracedBlock& b = blocks[i];
    prof_format::TraceBlock entry{};
    entry.address = b.range.start.value;
    entry.code = code;
    entry.size = uint32_t(b.range.size());
    entry.instructions = b.instructions;
    entry.operands = uint32_t(b.accesses.size());
    entry.values = uint16_t(b.values);
    if (i < counters.records) entry.flags |= prof_format::kBlockWrites;
    if (b.is_told_by_ways) entry.flags |= prof_format::kBlockToldByWays;
    if (b.is_from_outside) entry.flags |= prof_format::kBlockFromOutside;
    entry.next = uint32_t(b.next.size());
    if (b.before != TracedBlock::kNone) entry.before = b.before + 1;
    append(out, entry);
    code += b.range.size();
  }
  for (const TracedBlock& b : blocks)
    for (const TracedAccess& access : b.accesses) append(out, operand_of(access));
  for (const TracedBlock& b : blocks)
    for (const uint32_t to : b.next) append(out, to);
  for (const TracedBlock& b : blocks) {
    if (b.range.size() == 0) continue;
    const auto bytes = image.bytes(b.range.start, b.range.size());
    if (!bytes) throw Error("internal error: a basic block is not in the file");
    append_bytes(out, *bytes);
  }
  return out;
}

}  // namespace profld
