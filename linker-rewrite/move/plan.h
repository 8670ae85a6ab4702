// The differences between a range of code and its copy, decided before anything is written: see plan.cc.

#ifndef LINKER_REWRITE_MOVE_PLAN_H
#define LINKER_REWRITE_MOVE_PLAN_H

#include <vector>

#include "libprof/format/hook_sites.h"
#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/blocks/block_counters.h"
#include "linker-rewrite/program/program.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/system_calls.h"

namespace profld {

inline constexpr uint32_t kHookLength = kCallThroughLength;  // of the call of a hook, in a copy

// Where hooks leave (Program::hooks_leave), the first two bytes of the call of a hook may not cross the border of an
// aligned word, as two bytes at crosses_word(address) do (libprof/format/hook_sites.h). So calls of an entry hook,
// which end where the body begins, are a byte longer, and others have nops before them: so many, if they would stand at
// `address`. Before the two calls around that of an import, which has `length` bytes, one number does for both.
inline uint32_t padding_of_hook(uint64_t address) { return prof_format::crosses_word(address) ? 1 : 0; }
inline uint32_t padding_of_import_call(uint64_t address, uint32_t length) {
  uint32_t padding = 0;
  while (prof_format::crosses_word(address + padding) ||
         prof_format::crosses_word(address + padding + kCallLength + length))
    ++padding;
  return padding;
}

// Of an increment.
inline uint32_t length_of(Increment increment) {
  switch (increment) {
    case Increment::of_thread:
      return kCountOfThreadLength;
    case Increment::of_thread_locked:
      return kLockLength + kCountOfThreadLength;
    case Increment::of_process:
      return kLockLength + kCountLength;
    case Increment::of_process_alone:
      return kRoomForPrefixes + kCountLength;
  }
  __builtin_unreachable();
}

// Of an increment, with what follows it; of a record.
inline uint32_t length_of(const CounterPlace& counter) {
  if (counter.record) return length_of_record(*counter.record);
  return length_of(counter.increment) + uint32_t(counter.again.size());
}

inline uint32_t length_of(const EdgeRecord& edge) {
  if (edge.record) return length_of_record(*edge.record);
  return length_of(edge.increment);
}

// The words that hold the addresses of the hooks, one after the other.
struct HookSlots {
  explicit HookSlots(NewAddr start)
      : enter(start), leave(start + 8), tail(start + 16), jump(start + 24), task(start + 40) {}
  NewAddr enter, leave;
  NewAddr tail;  // before a jump after the enter hook of another function
  NewAddr jump;  // before one that may lead to a function with hooks
  NewAddr task;  // of static programs: what a system call has made begins
};

// The form of an instruction in the copy. The top of plan.cc shows them.
enum class Form : uint8_t {
  hook_only,           // the instruction as it is, a hook before it
  import_call,         // the instruction as it is, between the calls of two thunks
  jump,                // jmp rel32
  jump_if,             // jcc rel32
  jump_if_short_far,   // jrcxz or loop, with jumps that lead to the target
  tail_call_if,        // jcc over a hook and a jump
  tail_call_if_short,  // the same for jrcxz and loop
  loop,                // the jump at the end of a RepeatedLoop, and after it the loop's later times
  task_call,           // a system call that may make a thread or a process, which begins in the runtime
};

// An instruction that is not copied as it is.
struct Change {
  uint32_t insn;
  Form form;
  bool leave_hook;              // call a hook of leaving first (in the tail_call forms it is part of the form)
  uint32_t import = kNoImport;  // that it calls or jumps to, if that is recorded (emit.h)

  static constexpr uint32_t kNoImport = UINT32_MAX;
  bool counts_import() const { return import != kNoImport && form != Form::import_call; }
};

struct RangePlan {
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t range = 0;                                   // index in Program::ranges
  uint32_t enter_hook_before = kNone;                   // index of the instruction before which the entry hook stands
  std::vector<Change> changes;                          // ascending by insn
  const std::vector<CounterPlace>* counters = nullptr;  // increments, after the entry hook; null: there are none
  const std::vector<EdgeRecord>* edges = nullptr;       // ascending by insn, one for each; null: there are none
  const std::vector<RepeatedLoop>* loops = nullptr;     // ascending; null: there are none
  bool falls_off = false;                               // needs a jump after its last instruction
  bool leave_hook_at_end = false;  // and before that jump a hook: the range runs on into another function
  uint64_t returns = 0, tail_jumps = 0;
};

// Plans the copy of the range `index`, which calls the hooks if `hooked`. Of `copy`, sets the sizes, the body, the
// steps and the loops. `counters`, of the program's blocks, may be null, and must outlive the plan.
RangePlan plan_copy(const Program& program, uint32_t index, bool hooked, RangeCopy& copy,
                    const BlockCounters* counters = nullptr);

// The loop that the instruction is in; null if it is in none.
const RepeatedLoop* loop_of(const RangePlan& plan, uint32_t insn);

// Of the jump at the end of a loop, each time.
inline uint32_t length_of_jump_back(const Insn& jump) {
  return jump.flow == Flow::jump_if ? kJumpIfLength : kJumpLength;
}

// How many records the copy writes, and how long the code is that jumps lead to first, on ways that have records.
uint32_t records_of(const RangePlan& plan);
uint32_t length_of_taken_edges(const RangePlan& plan);

}  // namespace profld

#endif
