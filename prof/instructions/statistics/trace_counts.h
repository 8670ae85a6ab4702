// What a trace adds up to: how often each instruction ran, what it touched, and where control went from it.
//
// Runs are counted as they come, and where the next one begins; what that means for the instructions of a run is found
// out once, at the end. So the cost of a trace is that of its runs, and the memory that of the program's code.
//
// An instruction with a prefix rep ran once, and made as many accesses as it repeated itself.

#ifndef PROF_INSTRUCTIONS_STATISTICS_TRACE_COUNTS_H
#define PROF_INSTRUCTIONS_STATISTICS_TRACE_COUNTS_H

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "prof/instructions/trace/trace_names.h"
#include "prof/instructions/trace/trace_reader.h"
#include "prof/read/instructions.h"

namespace prof {

// What instructions do, in a few words.

enum class InstructionKind : uint8_t {
  move,
  arithmetic,
  logic,
  shift,
  stack,
  condition,
  branch,
  jump,
  call,
  ret,
  string,
  floating,
  vector,
  crypto,
  atomic,
  nop,
  system,
  other,
  unknown  // its bytes are not known, or are no instruction
};
inline constexpr size_t kInstructionKinds = size_t(InstructionKind::unknown) + 1;

// Of the instruction that the code begins with.
InstructionKind kind_of_instruction(std::string_view code);

// For people: "integer arithmetic".
const char* name_of(InstructionKind kind);

struct CountedInstruction {
  CodePlace place;
  uint64_t address = 0;  // link-time if that is known, else in memory
  uint8_t length = 0;    // bytes
  InstructionKind kind = InstructionKind::unknown;
  Transfer transfer = Transfer::none;
  uint64_t executions = 0, loads = 0, stores = 0;
  uint64_t taken = 0, not_taken = 0;          // of a branch, as far as it is known where control went
  std::map<uint32_t, uint64_t> targets = {};  // of an indirect jump or call: how often by index of the instruction

  bool is_branch() const { return kind == InstructionKind::branch; }
  bool is_indirect() const { return transfer == Transfer::jump_indirect || transfer == Transfer::call_indirect; }
};

class TraceCounts : public TraceConsumer {
 public:
  // `names` must outlive this.
  explicit TraceCounts(TraceNames& names) : names_(names) {}

  void new_run(const TraceRun& run, const TraceMemory& memory) override;
  void run(TracedThread thread, const TraceRun& run, std::span<const AccessValue> accesses) override;
  void event(TracedThread thread, const TraceEvent& event) override;

  // Once, after the last run.
  void finish();

  // After finish: each address that ran; in the order in which they came.
  const std::vector<CountedInstruction>& instructions() const { return instructions_; }
  uint64_t total() const { return total_; }
  uint64_t loads() const { return loads_; }
  uint64_t stores() const { return stores_; }
  uint64_t threads() const { return threads_.size(); }
  uint64_t system_calls() const { return system_calls_; }
  uint64_t signals() const { return signals_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct CountedRun {
    uint64_t start = 0, end = 0;
    uint64_t executions = 0;
    std::vector<uint32_t> instructions;  // indexes into instructions_
    std::vector<RunAccess> accesses;
    std::vector<uint64_t> repeated;  // of each access, how often in all; empty if none is repeated
    // The run that followed last, and how often it did since it was another one; how often others did.
    uint32_t next = kNone;
    uint64_t times = 0;
    std::unordered_map<uint32_t, uint64_t> followers = {};
  };
  uint32_t instruction_at(const CodePlace& place, uint64_t address, std::string_view code);
  void count_run(const CountedRun& run);
  void count_transfers(const CountedRun& run);

  TraceNames& names_;
  std::vector<CountedRun> runs_;  // by number
  std::vector<CountedInstruction> instructions_;
  std::map<std::pair<uint32_t, uint64_t>, std::vector<uint32_t>> index_;  // by module and address
  std::map<TracedThread, uint32_t> threads_;                              // the run that each is in
  TracedThread thread_ = {};
  uint32_t* previous_ = nullptr;  // of thread_
  uint64_t total_ = 0, loads_ = 0, stores_ = 0, system_calls_ = 0, signals_ = 0;
};

}  // namespace prof

#endif
