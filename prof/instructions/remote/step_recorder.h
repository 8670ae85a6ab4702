// Makes a trace of steps: finds out, by the bytes of each instruction and the registers before it, which memory it
// touched.

#ifndef PROF_INSTRUCTIONS_REMOTE_STEP_RECORDER_H
#define PROF_INSTRUCTIONS_REMOTE_STEP_RECORDER_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "linker-rewrite/x86/memory_operands.h"
#include "prof/instructions/trace/trace_writer.h"
#include "registers.h"

namespace prof::remote {

// Which memory an instruction reads and writes, by its bytes and by the registers before it runs.
//
// Which operands it has is for linker-rewrite/x86/memory_operands.h. What depends on values is known here: that rep
// with a count of 0 touches nothing, which elements a mask chooses.
//
// Loads come before stores, each in the order of the operands.

using profld::decode_memory;
using profld::DecodedInstruction;
using profld::MemoryOperand;

// The accesses are added to `to`. `vectors` may be null unless needs_vectors.
void memory_accesses(const DecodedInstruction& instruction, const Registers& registers, const VectorRegisters* vectors,
                     std::vector<TraceAccess>& to);

class StepRecorder {
 public:
  // `has_files`: the program runs on this machine, so that the files in its memory can be looked into.
  StepRecorder(TraceWriter& trace, bool has_files) : trace_(trace), has_files_(has_files) {}

  // From now on these bytes stand there, as far as they can be read.
  void definition(uint32_t process, uint64_t address, std::string_view code);

  // What is known of the instruction there; null if there is no definition.
  const DecodedInstruction* instruction(uint32_t process, uint64_t address) const;

  // The instruction ran.
  void step(TracedThread thread, const Registers& before, const VectorRegisters* vectors);

  // So many instructions ran, one after the other, of which no registers are known: without accesses.
  void block(TracedThread thread, uint64_t address, uint64_t instructions);

  void event(TracedThread thread, prof_format::TraceEventKind kind, const std::vector<uint64_t>& values);

  // The memory of the process, as /proc/PID/maps has it.
  void maps(uint32_t process, std::string_view text);

 private:
  struct Code {
    std::string bytes;
    DecodedInstruction instruction;
  };
  const Code* code_at(uint32_t process, uint64_t address) const;
  void add_step(TracedThread thread, const Code& code, const Registers& before, const VectorRegisters* vectors);
  const std::string& build_id_of(const std::string& path);

  TraceWriter& trace_;
  const bool has_files_;
  std::map<uint32_t, std::unordered_map<uint64_t, Code>> code_;
  std::map<uint32_t, std::map<uint64_t, TracedModule>> modules_;  // by process and start
  std::map<std::string, std::string> build_ids_;
  std::map<TracedThread, Registers> held_off_;  // after an instruction that holds off the trap: its registers
  std::vector<TraceAccess> accesses_;
};

// How tracing ended.
struct TracedEnd {
  enum class Kind : uint8_t { exit, signal, link };
  Kind kind = Kind::link;
  int status = 0;  // the exit status, or the signal
};

}  // namespace prof::remote

#endif
