// Which basic blocks of the functions that move get a counter (profld -b), and where it stands: see block_counters.cc.

#ifndef LINKER_REWRITE_BLOCKS_BLOCK_COUNTERS_H
#define LINKER_REWRITE_BLOCKS_BLOCK_COUNTERS_H

#include <limits>
#include <optional>
#include <vector>

#include "linker-rewrite/decide/threads.h"
#include "linker-rewrite/elf/image.h"
#include "linker-rewrite/program/program.h"
#include "linker-rewrite/x86/record_code.h"

namespace profld {

// An increment before an instruction, or the code of a record. Jumps to the instruction come to it.
struct CounterPlace {
  uint32_t insn;     // index in the range
  uint32_t number;   // of the counter, in the program; of the block that is recorded
  ByteView again{};  // an instruction that follows the increment, and sets the flags as they were
  Increment increment = Increment::of_thread;
  std::optional<RecordCode> record{};
  uint32_t later = kNoLater;  // in a RepeatedLoop: the first of the counters of its later times
  static constexpr uint32_t kNoLater = std::numeric_limits<uint32_t>::max();
};

// The same where control goes one of the two ways on from a conditional jump.
struct EdgeRecord {
  uint32_t insn;    // the jump: index in the range
  bool is_taken;    // on the way to its target; else after it
  uint32_t number;  // of the counter, in the program; that is recorded
  Increment increment = Increment::of_thread;
  std::optional<RecordCode> record{};
  uint32_t later = CounterPlace::kNoLater;
};

// A small loop that stands several times in the copy, one after the other, each time with counters of its own.
struct RepeatedLoop {
  uint32_t first, last;  // its instructions, the last one jumps back to the first: indexes in the range
  uint32_t times;        // at least 2
};

// An access to memory in a block, with its values by their place in the record: as libprof/format/trace.h has it.
struct TracedAccess {
  static constexpr uint16_t kNone = 0xffff;

  uint32_t instruction = 0;  // of the block's
  uint16_t size = 0;         // bytes
  uint8_t flags = 0, form = 0;
  uint16_t base = kNone, index = kNone, segment = kNone, count = kNone;
  int64_t addend = 0;
};

// A basic block, or a part of one, that writes records, or that another one stands for; or, if it is empty, the way
// from `before` to another (trace_records.cc).
struct TracedBlock {
  OldRange range;
  uint32_t instructions;
  uint32_t before;      // the block that always ran before it and writes none; kNone: there is none
  uint32_t values = 0;  // in its records
  std::vector<TracedAccess> accesses{};
  std::vector<uint32_t> next{};  // where control may go on, if the next record tells where it did
  bool is_told_by_ways = false;  // what ran before it depends on the record before (silent_blocks.cc)
  bool is_from_outside = false;  // the first of those that `before` leads to, or it, comes from outside of the function
  bool is_taken = false;         // a way to the target of the jump
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
};

// What a reader needs to find out how often a block ran. Control comes from one of the places where paths meet, runs
// through the block, and goes to another of these. 0 is all that is outside of the function. If the range is empty, it
// is no block, but a way on from a conditional jump, or a block that an indirect jump may lead to.
struct CountedBlock {
  OldRange range;
  uint32_t from, to;       // places, numbered within the function
  uint32_t counter;        // in the program; kNone: its count is to be computed; prof_format::kTarget: as said there
  bool is_marked = false;  // prof_format::kMarked
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
};

struct CountedFunction {
  OldAddr entry;
  uint32_t places = 0;
  // By part, ascending in each; after them the ways that may have counters, and the targets of jumps through tables;
  // and `later` blocks and ways once more, for each later time that they stand in the copy.
  std::vector<CountedBlock> blocks;
  size_t later = 0;
};

struct BlockCounters {
  std::vector<std::vector<CounterPlace>> of_range;  // by range of the program, ascending by instruction
  std::vector<std::vector<EdgeRecord>> edges;       // the same; one at most for a jump
  std::vector<std::vector<RepeatedLoop>> loops;     // the same
  std::vector<CountedFunction> functions;           // in the order of their groups
  uint32_t counters = 0;
  Increment increment = Increment::of_thread;
  std::vector<TracedBlock> traced;  // by the number in their records
  uint32_t records = 0;             // so many of `traced`, the first ones, write them
  uint8_t record_size = 0;          // bytes
  bool has_memory = false;          // records have values, for accesses to memory
  uint64_t uncounted = 0;           // functions with a block that there is no room for a counter in

  const std::vector<CounterPlace>* places(uint32_t range) const {
    return of_range.empty() ? nullptr : &of_range[range];
  }
  const std::vector<EdgeRecord>* edges_of(uint32_t range) const { return edges.empty() ? nullptr : &edges[range]; }
  const std::vector<RepeatedLoop>* loops_of(uint32_t range) const { return loops.empty() ? nullptr : &loops[range]; }
};

// Of all groups that move. `old_entries`: instructions whose originals lead to their copies. `increment`: what
// increments the program's counters have to be (decide/threads.h).
BlockCounters place_block_counters(const Program& program, const std::vector<OldAddr>& old_entries,
                                   Increment increment = Increment::of_thread);

// Where their blocks write their records instead (profld --trace), which block each number in a record means, and the
// table that says so: see trace_records.cc.

// As place_block_counters: of all groups that move. `has_memory`: the records have what tells which memory is touched.
BlockCounters place_trace_records(const Program& program, const std::vector<OldAddr>& old_entries,
                                  bool has_memory = false);

// The second page of the trace segment and what follows it (libprof/format/trace.h).
Bytes encode_trace_program(const Image& image, const BlockCounters& blocks);

}  // namespace profld

#endif
