#include "trace_table.h"

#include "libprof/format/trace.h"
#include "libprof/format/trace_segment.h"

namespace profld {

Bytes encode_trace_program(const Image& image, const std::vector<TracedBlock>& blocks, uint32_t word_size) {
  prof_format::TraceBlocks header{};
  header.blocks = blocks.size();
  for (const TracedBlock& b : blocks) header.code_size += b.range.size();
  header.block_size = sizeof(prof_format::TraceBlock);
  header.operand_size = sizeof(prof_format::TraceOperand);
  prof_format::TraceProgram program{};
  program.table_size = sizeof header + header.blocks * header.block_size + header.code_size;
  program.word_size = word_size;

  Bytes out;
  out.reserve(sizeof program + program.table_size);
  append(out, program);
  append(out, header);
  uint64_t code = 0;
  for (const TracedBlock& b : blocks) {
    prof_format::TraceBlock entry{};
    entry.address = b.range.start.value;
    entry.code = code;
    entry.size = uint32_t(b.range.size());
    entry.instructions = b.instructions;
    if (b.before != TracedBlock::kNone) entry.before = b.before + 1;
    append(out, entry);
    code += b.range.size();
  }
  for (const TracedBlock& b : blocks) {
    if (b.range.size() == 0) continue;
    const auto bytes = image.bytes(b.range.start, b.range.size());
    if (!bytes) throw Error("internal error: a basic block is not in the file");
    append_bytes(out, *bytes);
  }
  return out;
}

}  // namespace profld
