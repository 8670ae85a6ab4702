#include "trace_counts.h"

#include <algorithm>

#include "linker-rewrite/x86/decoder.h"

namespace prof {

namespace {

// Of those that the set of instructions that they came with says little of.
InstructionKind kind_by_set(const ZydisDecodedInstruction& in) {
  switch (in.meta.isa_ext) {
    case ZYDIS_ISA_EXT_X87:
      return InstructionKind::floating;
    case ZYDIS_ISA_EXT_AES:
    case ZYDIS_ISA_EXT_SHA:
    case ZYDIS_ISA_EXT_PCLMULQDQ:
    case ZYDIS_ISA_EXT_VAES:
    case ZYDIS_ISA_EXT_VPCLMULQDQ:
      return InstructionKind::crypto;
    case ZYDIS_ISA_EXT_BASE:
      return InstructionKind::other;
    default:
      break;
  }
  if (in.attributes & (ZYDIS_ATTRIB_HAS_VEX | ZYDIS_ATTRIB_HAS_EVEX)) return InstructionKind::vector;
  switch (in.meta.isa_ext) {
    case ZYDIS_ISA_EXT_SSE:
    case ZYDIS_ISA_EXT_SSE2:
    case ZYDIS_ISA_EXT_SSE3:
    case ZYDIS_ISA_EXT_SSSE3:
    case ZYDIS_ISA_EXT_SSE4:
    case ZYDIS_ISA_EXT_MMX:
      return InstructionKind::vector;
    default:
      return InstructionKind::other;
  }
}

InstructionKind kind_by_category(const ZydisDecodedInstruction& in) {
  switch (in.meta.category) {
    case ZYDIS_CATEGORY_DATAXFER:
      return in.meta.isa_ext == ZYDIS_ISA_EXT_BASE ? InstructionKind::move : kind_by_set(in);
    case ZYDIS_CATEGORY_BINARY:
    case ZYDIS_CATEGORY_DECIMAL:
    case ZYDIS_CATEGORY_ADOX_ADCX:
      return InstructionKind::arithmetic;
    case ZYDIS_CATEGORY_CONVERT:  // cdq and its like, and between numbers of vectors
      return in.meta.isa_ext == ZYDIS_ISA_EXT_BASE ? InstructionKind::arithmetic : kind_by_set(in);
    case ZYDIS_CATEGORY_MISC:
      return in.mnemonic == ZYDIS_MNEMONIC_LEA ? InstructionKind::arithmetic : kind_by_set(in);
    case ZYDIS_CATEGORY_LOGICAL:
      return in.meta.isa_ext == ZYDIS_ISA_EXT_BASE ? InstructionKind::logic : kind_by_set(in);
    case ZYDIS_CATEGORY_BITBYTE:
    case ZYDIS_CATEGORY_BMI1:
    case ZYDIS_CATEGORY_BMI2:
    case ZYDIS_CATEGORY_LZCNT:
      return InstructionKind::logic;
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_ROTATE:
      return InstructionKind::shift;
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP:
      return InstructionKind::stack;
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_SETCC:
    case ZYDIS_CATEGORY_FLAGOP:
      return InstructionKind::condition;
    case ZYDIS_CATEGORY_COND_BR:
      return InstructionKind::branch;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return InstructionKind::jump;
    case ZYDIS_CATEGORY_CALL:
      return InstructionKind::call;
    case ZYDIS_CATEGORY_RET:
      return InstructionKind::ret;
    case ZYDIS_CATEGORY_STRINGOP:
      return InstructionKind::string;
    case ZYDIS_CATEGORY_X87_ALU:
    case ZYDIS_CATEGORY_FCMOV:
      return InstructionKind::floating;
    case ZYDIS_CATEGORY_SEMAPHORE:
      return InstructionKind::atomic;
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_PREFETCH:
      return InstructionKind::nop;
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_RDWRFSGS:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
      return InstructionKind::system;
    default:
      return kind_by_set(in);
  }
}

}  // namespace

InstructionKind kind_of_instruction(std::string_view code) {
  ZydisDecodedInstruction in;
  ZydisDecoderContext context;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&profld::decoder(), &context, code.data(), code.size(), &in)))
    return InstructionKind::unknown;
  if (in.attributes & ZYDIS_ATTRIB_HAS_LOCK) return InstructionKind::atomic;
  return kind_by_category(in);
}

const char* name_of(InstructionKind kind) {
  static constexpr const char* kNames[kInstructionKinds] = {"moves of data",
                                                            "integer arithmetic",
                                                            "logic and bits",
                                                            "shifts and rotations",
                                                            "push and pop",
                                                            "conditions",
                                                            "branches",
                                                            "jumps",
                                                            "calls",
                                                            "returns",
                                                            "strings",
                                                            "x87 floating point",
                                                            "SSE, AVX and the like",
                                                            "cryptography",
                                                            "atomic",
                                                            "no operation, hints",
                                                            "system",
                                                            "others",
                                                            "unknown"};
  return kNames[size_t(kind)];
}

using namespace prof_format;

// Code that took the place of other code at the same address has an entry of its own.
uint32_t TraceCounts::instruction_at(const CodePlace& place, uint64_t address, std::string_view code) {
  CountedInstruction found;
  found.place = place;
  found.address = address;
  found.length = uint8_t(code.size());
  found.kind = kind_of_instruction(code);
  const std::vector<Instruction> decoded = decode_instructions(code, address);
  if (!decoded.empty() && decoded[0].is_known) found.transfer = decoded[0].transfer;
  std::vector<uint32_t>& here = index_[{names_.functions()[place.function].module, address}];
  for (const uint32_t index : here) {
    const CountedInstruction& other = instructions_[index];
    if (other.length == found.length && other.kind == found.kind && other.transfer == found.transfer) return index;
  }
  here.push_back(uint32_t(instructions_.size()));
  instructions_.push_back(std::move(found));
  return here.back();
}

void TraceCounts::new_run(const TraceRun& run, const TraceMemory& memory) {
  CountedRun& counted = runs_.emplace_back();
  counted.start = run.start;
  counted.end = run.end;
  counted.accesses = run.accesses;
  const auto is_repeated = [](const RunAccess& access) { return access.flags & kAccessRepeated; };
  if (std::any_of(run.accesses.begin(), run.accesses.end(), is_repeated)) counted.repeated.resize(run.accesses.size());
  uint64_t address = run.start;
  for (const uint8_t length : run.lengths) {
    const CodePlace place = names_.place(memory, run.process, address);
    std::string code = memory.code(run.process, address, length);
    code.resize(length);
    counted.instructions.push_back(instruction_at(place, place.address.value_or(address), code));
    address += length;
  }
}

void TraceCounts::run(TracedThread thread, const TraceRun& run, std::span<const AccessValue> accesses) {
  if (!previous_ || thread_ != thread) {
    thread_ = thread;
    previous_ = &threads_.try_emplace(thread, kNone).first->second;
  }
  if (*previous_ != kNone) {
    CountedRun& before = runs_[*previous_];
    if (before.next != run.number) {
      if (before.times) before.followers[before.next] += before.times;
      before.next = run.number;
      before.times = 0;
    }
    ++before.times;
  }
  *previous_ = run.number;
  CountedRun& counted = runs_[run.number];
  ++counted.executions;
  for (size_t i = 0; i < counted.repeated.size(); ++i) counted.repeated[i] += accesses[i].count;
}

void TraceCounts::event(TracedThread thread, const TraceEvent& event) {
  system_calls_ += event.kind == kEventSystemCall;
  signals_ += event.kind == kEventSignal;
  // Control goes elsewhere, and no instruction made it.
  if (event.kind == kEventSignal || event.kind == kEventLost || event.kind == kEventExec) {
    const auto at = threads_.find(thread);
    if (at != threads_.end()) at->second = kNone;
  }
}

void TraceCounts::count_run(const CountedRun& run) {
  total_ += run.executions * run.instructions.size();
  for (const uint32_t index : run.instructions) instructions_[index].executions += run.executions;
  for (size_t i = 0; i < run.accesses.size(); ++i) {
    CountedInstruction& instruction = instructions_[run.instructions[run.accesses[i].instruction]];
    const uint64_t times = run.repeated.empty() ? run.executions : run.repeated[i];
    const bool is_write = run.accesses[i].flags & kAccessWrite;
    (is_write ? instruction.stores : instruction.loads) += times;
    (is_write ? stores_ : loads_) += times;
  }
  for (size_t i = 0; i + 1 < run.instructions.size(); ++i) {
    CountedInstruction& instruction = instructions_[run.instructions[i]];
    if (instruction.is_branch()) instruction.not_taken += run.executions;
  }
}

// Where control went from the last instruction of a run.
void TraceCounts::count_transfers(const CountedRun& run) {
  CountedInstruction& last = instructions_[run.instructions.back()];
  if (!last.is_branch() && !last.is_indirect()) return;
  const auto count = [&](uint32_t follower, uint64_t times) {
    const CountedRun& next = runs_[follower];
    // A call that leads to what was not traced is seen by its return.
    const bool goes_on = next.start == run.end;
    if (last.is_branch()) (goes_on ? last.not_taken : last.taken) += times;
    if (last.is_indirect() && !goes_on) last.targets[next.instructions.front()] += times;
  };
  for (const auto& [follower, times] : run.followers) count(follower, times);
  if (run.times) count(run.next, run.times);
}

void TraceCounts::finish() {
  for (const CountedRun& run : runs_) {
    count_run(run);
    count_transfers(run);
  }
}

}  // namespace prof
